//! Adds servers to the config: each once, under a unique name.

use std::{collections::HashMap, path::Path};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{super::secret_values::MovedSecrets, sources::ConfigSource};
use crate::{
    own_program,
    settings::{edit::ConfigEditor, import::ForeignServer},
    terminal::ask,
    vault,
};

/// What was done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ImportAction {
    Added,
    Replaced,
    /// It is there already.
    Left,
    /// It cannot be used.
    Skipped,
}

/// What was done with a server, and what to know about it.
#[derive(Debug, Serialize)]
pub(super) struct ImportOutcome {
    pub(super) name: String,
    /// The config that it comes from.
    pub(super) source: String,
    pub(super) action: ImportAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
}

impl ImportOutcome {
    pub(super) fn is_change(&self) -> bool {
        matches!(self.action, ImportAction::Added | ImportAction::Replaced)
    }
}

/// A server that this command has put into the config, or found there.
struct ExistingServer {
    settings: Map<String, Value>,
    from: String,
}

impl ExistingServer {
    fn new(settings: Map<String, Value>, source: &ConfigSource) -> Self {
        let from = source
            .program
            .map_or_else(|| source.file.display().to_string(), |program| program.title.to_owned());
        Self { settings, from }
    }
}

pub(super) struct Merge {
    target: ConfigEditor,
    secrets: MovedSecrets,
    /// By their names in our config.
    taken: HashMap<String, ExistingServer>,
}

/// What to do with a server.
enum MergePlan {
    Write { name: String, is_new: bool },
    Leave(String),
}

impl Merge {
    pub(super) fn new(target: ConfigEditor, secrets: MovedSecrets) -> Self {
        Self { target, secrets, taken: HashMap::new() }
    }

    pub(super) fn finish(self) -> (ConfigEditor, MovedSecrets) {
        (self.target, self.secrets)
    }

    /// Adds a server to the config, unless it cannot be used or is in the config already.
    pub(super) fn take(
        &mut self,
        server: &ForeignServer,
        source: &ConfigSource,
    ) -> anyhow::Result<ImportOutcome> {
        let outcome = |name: &str, action, reason, notes| ImportOutcome {
            name: name.to_owned(),
            source: source.file.display().to_string(),
            action,
            reason,
            notes,
        };
        let settings = without_plain_type(server.settings.clone());
        let problem = server.problem.clone().or_else(|| is_switchboard(&settings));
        if problem.is_some() {
            return Ok(outcome(&server.name, ImportAction::Skipped, problem, Vec::new()));
        }
        match self.plan(server, source, &settings)? {
            MergePlan::Leave(reason) => {
                Ok(outcome(&server.name, ImportAction::Left, Some(reason), Vec::new()))
            }
            MergePlan::Write { name, is_new } => {
                let mut notes = notes(server, &name, &source.file);
                self.write(&name, server, settings, source, &mut notes)?;
                let action = if is_new { ImportAction::Added } else { ImportAction::Replaced };
                Ok(outcome(&name, action, None, notes))
            }
        }
    }

    fn plan(
        &mut self,
        server: &ForeignServer,
        source: &ConfigSource,
        settings: &Map<String, Value>,
    ) -> anyhow::Result<MergePlan> {
        if let Some((name, same)) = self.taken.iter().find(|(_, taken)| &taken.settings == settings)
        {
            return Ok(MergePlan::Leave(format!("it is the same as `{name}` of {}", same.from)));
        }
        let name = server.name.clone();
        if let Some(same) = self.same_server(server, settings)? {
            let reason = match same == name {
                true => "it is there already, and the same".to_owned(),
                false => format!("it is there already, as `{same}`"),
            };
            self.taken.insert(same, ExistingServer::new(settings.clone(), source));
            return Ok(MergePlan::Leave(reason));
        }
        if self.target.get(&name).is_none() {
            return Ok(MergePlan::Write { name, is_new: true });
        }
        if self.taken.contains_key(&name) {
            let name = self.other_name(server, source);
            return Ok(MergePlan::Write { name, is_new: true });
        }
        Ok(match may_replace(&name, &self.target) {
            true => MergePlan::Write { name, is_new: false },
            false => MergePlan::Leave(
                "it is there already, and differs; remove one of them to import it".to_owned(),
            ),
        })
    }

    /// Returns the name of an equal server of the config, whether or not its secrets were moved to the vault.
    fn same_server(
        &mut self,
        server: &ForeignServer,
        settings: &Map<String, Value>,
    ) -> anyhow::Result<Option<String>> {
        for name in self.target.servers() {
            let there = self.target.get(&name);
            let mark = self.secrets.len();
            let mut written = settings.clone();
            self.secrets.take_out(&name, &mut written, &server.from_env_file)?;
            self.secrets.truncate(mark);
            if [written, settings.clone()].map(|own| Some(Value::Object(own))).contains(&there) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// `github_app` for a server of the project `app`, else `github_cursor`, else with a number.
    fn other_name(&self, server: &ForeignServer, source: &ConfigSource) -> String {
        let folder = server.project.as_deref().and_then(Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().replace(char::is_whitespace, "-"));
        let word = folder.or_else(|| Some(source.program?.word.to_owned()));
        let separator = self.target.separator();
        let filler = if separator == "_" { "-" } else { "_" };
        let named = word.map(|word| format!("{}{filler}{word}", server.name));
        let numbered = (2..).map(|number| format!("{}{filler}{number}", server.name));
        let is_free = |name: &String| !name.contains(separator) && self.target.get(name).is_none();
        named.into_iter().chain(numbered).find(is_free).unwrap_or_else(|| server.name.clone())
    }

    fn write(
        &mut self,
        name: &str,
        server: &ForeignServer,
        settings: Map<String, Value>,
        source: &ConfigSource,
        notes: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        let mut written = settings.clone();
        let secrets = self.secrets.take_out(name, &mut written, &server.from_env_file)?;
        if vault::open().is_err() {
            // Without a home folder there is no vault.
            notes.extend(secrets.iter().map(|secret| {
                format!("run `switchboard secret set {secret}`: a secret was left out")
            }));
        }
        self.target.set(name, &written)?;
        let separator = self.target.separator().to_owned();
        let rules = &server.rules;
        let mut lists: Vec<_> = rules.patterns(name, &separator).into_iter().collect();
        lists.push(("ask_if", rules.ask_about_others(name, &separator).into_iter().collect()));
        for (key, patterns) in lists.into_iter().filter(|(_, patterns)| !patterns.is_empty()) {
            self.target.extend_policy(key, &patterns)?;
            notes.extend(patterns.iter().map(|pattern| format!("[policy] {key}: {pattern}")));
        }
        let from = source
            .program
            .map_or_else(|| source.file.display().to_string(), |program| program.title.to_owned());
        self.taken.insert(name.to_owned(), ExistingServer { settings, from });
        Ok(())
    }
}

/// Removes `type` if `command` or `url` implies it.
fn without_plain_type(mut settings: Map<String, Value>) -> Map<String, Value> {
    let kind = settings.get("type").and_then(Value::as_str).unwrap_or_default();
    if matches!((kind, settings.contains_key("url")), ("stdio", false) | ("http", true)) {
        settings.shift_remove("type");
    }
    settings
}

/// Returns why a server is not imported if it is Switchboard itself, as written by `switchboard connect`.
fn is_switchboard(settings: &Map<String, Value>) -> Option<String> {
    let command = settings.get("command").and_then(Value::as_str).map(Path::new)?;
    let args = settings.get("args").and_then(Value::as_array)?;
    let is_named_so = command.file_stem().is_some_and(|name| name == "switchboard");
    let is_this = || std::env::current_exe().is_ok_and(|own| own == command);
    let is_package = || args.iter().filter_map(Value::as_str).any(own_program::is_package);
    let serves = ["serve", "--stdio"].iter().all(|word| args.iter().any(|arg| arg == word));
    (serves && (is_named_so || is_this() || is_package()))
        .then(|| "it is Switchboard itself".to_owned())
}

fn may_replace(name: &str, target: &ConfigEditor) -> bool {
    let config = target.file().display();
    let question =
        format!("server `{name}` is in {config} already, and differs. Replace it? [y/N] ");
    // No answer means no.
    ask::is_possible()
        && ask::line(&question).is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn notes(server: &ForeignServer, name: &str, file: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if server.given != server.name {
        notes.push(format!("called `{}` there; tool names need a plainer one", server.given));
    }
    if server.name != name {
        notes.push(format!("called `{}` there; another server has that name", server.given));
    }
    for variable in &server.variables {
        notes.push(format!("set the environment variable `{variable}`: it was asked for there"));
    }
    let (given, file) = (&server.given, file.display());
    let dropped = server.dropped.iter();
    notes.extend(dropped.map(|key| format!("left out: `{key}` of `{given}` in {file}")));
    notes
}
