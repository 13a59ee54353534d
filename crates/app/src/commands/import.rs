//! `switchboard import`: the servers of another program's config become ours.

mod sources;

use std::{path::Path, process::ExitCode};

use serde::Serialize;
use serde_json::{Map, Value, json};
use switchboard_runtime::redact;

use crate::{
    cli::{Cli, ImportArgs},
    environment,
    settings::{
        FILE_NAME,
        edit::ConfigEditor,
        import::{self, ForeignServer},
        trust,
    },
    terminal::{self, Paint, ask, text},
};

/// What was done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ImportAction {
    Added,
    Replaced,
    /// It is there already.
    Left,
    /// It cannot be used.
    Skipped,
}

/// What was done with a server, and what to know about it.
#[derive(Debug, Serialize)]
struct ImportOutcome {
    name: String,
    action: ImportAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    notes: Vec<String>,
}

pub(super) fn run(import: &ImportArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let source = sources::find(&import.source)?;
    let file = cli.config.clone().unwrap_or_else(|| FILE_NAME.into());
    let mut target = ConfigEditor::open(file)?;
    let servers = import::servers_of(&source, target.separator())?;
    let outcomes: Vec<_> =
        servers.into_iter().map(|server| take(server, &mut target)).collect::<Result<_, _>>()?;
    if outcomes
        .iter()
        .any(|outcome| matches!(outcome.action, ImportAction::Added | ImportAction::Replaced))
    {
        // `import cursor` may have found the config of the folder, which is not the person's.
        let is_own = source == import.source || source.is_absolute();
        let was_trusted = !target.file().exists() || trust::is_trusted(target.file());
        target.save()?;
        let is_named = cli.config.is_some() || environment::is_set("SWITCHBOARD_CONFIG");
        match target.file() {
            file if was_trusted && is_own && file.ends_with(FILE_NAME) => keep_trust(file),
            _ if is_named => {}
            file => terminal::tell(&format!(
                "note: {} has servers that you did not name, and is not trusted; `switchboard trust .` trusts it",
                file.display()
            )),
        }
    }
    let (source, config) = (source.display().to_string(), target.file().display().to_string());
    let text = match import.json {
        true => json!({"source": source, "config": config, "servers": outcomes}).to_string(),
        false => report(&source, &config, &outcomes, Paint::stdout(cli.color)),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts a config that the person has just written by a command (SPEC PO-3).
pub(super) fn keep_trust(file: &Path) {
    if let Err(error) = trust::trust(file) {
        let file = file.display();
        terminal::tell(&format!("note: {file} will be asked about when it is found: {error:#}"));
    }
}

/// Puts a server into the config, unless it cannot be used or is there already.
fn take(server: ForeignServer, target: &mut ConfigEditor) -> anyhow::Result<ImportOutcome> {
    let outcome = |action, reason: Option<&str>, notes| ImportOutcome {
        name: server.name.clone(),
        action,
        reason: reason.map(str::to_owned),
        notes,
    };
    if let Some(problem) = &server.problem {
        return Ok(outcome(ImportAction::Skipped, Some(problem), Vec::new()));
    }
    let settings = without_plain_type(server.settings.clone());
    let there = target.get(&server.name);
    if there.as_ref() == Some(&Value::Object(settings.clone())) {
        return Ok(outcome(
            ImportAction::Left,
            Some("it is there already, and the same"),
            Vec::new(),
        ));
    }
    if there.is_some() && !may_replace(&server.name, target) {
        let reason = "it is there already, and differs; remove one of them to import it";
        return Ok(outcome(ImportAction::Left, Some(reason), Vec::new()));
    }
    target.set(&server.name, &settings)?;
    let action = if there.is_some() { ImportAction::Replaced } else { ImportAction::Added };
    Ok(outcome(action, None, notes(&server, &settings)))
}

/// `type` is needed only where `command` or `url` does not say it.
fn without_plain_type(mut settings: Map<String, Value>) -> Map<String, Value> {
    let kind = settings.get("type").and_then(Value::as_str).unwrap_or_default();
    if matches!((kind, settings.contains_key("url")), ("stdio", false) | ("http", true)) {
        settings.shift_remove("type");
    }
    settings
}

fn may_replace(name: &str, target: &ConfigEditor) -> bool {
    let config = target.file().display();
    let question =
        format!("server `{name}` is in {config} already, and differs. Replace it? [y/N] ");
    // Who does not answer has not said yes.
    ask::is_possible()
        && ask::line(&question).is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn notes(server: &ForeignServer, settings: &Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    if server.given != server.name {
        notes.push(format!("called `{}` there; tool names need a plainer one", server.given));
    }
    for variable in &server.variables {
        notes.push(format!("set the environment variable `{variable}`: it was asked for there"));
    }
    for section in ["env", "headers"] {
        let entries = settings.get(section).and_then(Value::as_object).into_iter().flatten();
        let secrets = entries.filter(|(name, value)| is_plain_secret(name, value));
        notes.extend(secrets.map(|(name, value)| {
            let variable = name.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            // `Bearer …` keeps its first word.
            let scheme = value.as_str().and_then(|text| text.split_once(' '));
            let scheme = match scheme {
                Some((scheme @ ("Bearer" | "Basic"), _)) => format!("{scheme} "),
                _ => String::new(),
            };
            format!(
                "{section}.{name} looks like a secret; better write `{scheme}${{{variable}}}` and set that"
            )
        }));
    }
    notes
}

/// Whether the value is a secret that stands there for everybody to read.
pub(super) fn is_plain_secret(name: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let entry = Map::from_iter([(name.to_owned(), value.clone())]);
    // Names end in KEY more often here than in what tools are given.
    let is_key = name.to_lowercase().ends_with("key");
    !text.is_empty()
        && !text.contains("${")
        && (is_key || redact::object(&entry).contains(redact::REDACTED))
}

fn report(source: &str, config: &str, outcomes: &[ImportOutcome], paint: Paint) -> String {
    let mut lines = Vec::new();
    for ImportOutcome { name, action, reason, notes } in outcomes {
        let word = match action {
            ImportAction::Added => paint.green("added   "),
            ImportAction::Replaced => paint.yellow("replaced"),
            ImportAction::Left => paint.blue("left    "),
            ImportAction::Skipped => paint.red("skipped "),
        };
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(format!("{word}  {}{}", paint.bold(name), text::one_line(&reason)));
        lines.extend(notes.iter().map(|note| format!("          {}", text::one_line(note))));
    }
    let count =
        |wanted: ImportAction| outcomes.iter().filter(|outcome| outcome.action == wanted).count();
    let changed = count(ImportAction::Added) + count(ImportAction::Replaced);
    let servers = if outcomes.len() == 1 { "server" } else { "servers" };
    lines
        .push(format!("{changed} of {} {servers} of {source} written to {config}", outcomes.len()));
    lines.join("\n")
}
