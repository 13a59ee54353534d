//! Servers, models and tools that are skipped because a value they refer to is missing, while everything else works
//! (SPEC MC-8).

use std::{cell::RefCell, collections::BTreeSet};

use indexmap::IndexMap;
use switchboard_local::{BuiltinsConfig, builtins};

use super::{
    missing::{MissingValue, SubstitutionError},
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
    substitute::{self, Meaning},
};

/// Settings of a server that can hold any text. The others are dropped if a value is missing in them.
const TEXTS: [&str; 8] = ["command", "args", "env", "cwd", "url", "headers", "oauth", "check"];

/// What is skipped, by name, with the reason.
#[derive(Debug, Default)]
pub(crate) struct SkippedEntries {
    /// Servers of `[servers.*]`.
    pub(crate) servers: IndexMap<String, String>,
    /// APIs of `[apis.*]`.
    pub(crate) apis: IndexMap<String, String>,
    /// Models of `[models.*]`, which are not among the settings.
    pub(crate) models: IndexMap<String, String>,
    /// Tools of `[[tools]]`, which are not among the settings, and built-in ones.
    pub(crate) tools: IndexMap<String, String>,
}

impl SkippedEntries {
    /// Says of each what is skipped and why: `Server 'docs' is skipped: the environment variable TOKEN is not set`.
    fn sentences(&self) -> impl Iterator<Item = String> {
        let kinds = [
            ("Server", &self.servers),
            ("API", &self.apis),
            ("Model", &self.models),
            ("Tool", &self.tools),
        ];
        kinds.into_iter().flat_map(|(kind, names)| {
            names.iter().map(move |(name, reason)| sentence(kind, name, reason))
        })
    }

    /// Says why the model is skipped, if it is.
    pub(crate) fn model(&self, name: &str) -> Option<String> {
        self.models.get(name).map(|reason| sentence("Model", name, reason))
    }

    /// Says why the tool is skipped, if it is.
    pub(crate) fn tool(&self, name: &str) -> Option<String> {
        self.tools.get(name).map(|reason| sentence("Tool", name, reason))
    }

    /// Warns of each that is skipped.
    pub(crate) fn warn(&self) {
        for sentence in self.sentences() {
            tracing::warn!("{sentence}");
        }
    }

    /// The tools with their reasons, as the executor takes them.
    pub(crate) fn tools(&self) -> Vec<(String, String)> {
        self.tools.iter().map(|(name, reason)| (name.clone(), reason.clone())).collect()
    }

    /// Notes a server, if values are missing in its settings.
    pub(super) fn add_server(&mut self, name: &str, missing: &BTreeSet<MissingValue>) {
        if !missing.is_empty() {
            self.servers.insert(name.to_owned(), reason(missing));
        }
    }
}

fn sentence(kind: &str, name: &str, reason: &str) -> String {
    format!("{kind} '{name}' is skipped: {reason}")
}

fn reason(missing: &BTreeSet<MissingValue>) -> String {
    missing.iter().map(MissingValue::to_string).collect::<Vec<_>>().join("; ")
}

/// Fills in the variables of a config of ours. A server, model or tool in which one is missing is skipped; elsewhere a
/// missing variable is an error.
///
/// # Errors
/// A value is missing elsewhere, or the syntax of a `${…}` is wrong.
pub(super) fn fill(
    root: &mut ConfigNode,
    meaning: Meaning<'_>,
) -> Result<SkippedEntries, ConfigProblem> {
    let mut skipped = SkippedEntries::default();
    let NodeContent::Table(sections) = &mut root.content else {
        substitute::variables(root, meaning)?;
        return Ok(skipped);
    };
    for (key, section) in sections {
        let filled = match (key.name.as_str(), &mut section.content) {
            ("servers", NodeContent::Table(servers)) => {
                fill_servers(servers, meaning, &mut skipped)
            }
            ("apis", NodeContent::Table(apis)) => fill_apis(apis, meaning, &mut skipped.apis),
            ("models", NodeContent::Table(models)) => {
                drop_unfilled(models, meaning, &mut skipped.models, |_| true)
            }
            ("builtins", NodeContent::Table(tools)) => {
                drop_unfilled(tools, meaning, &mut skipped.tools, is_builtin)
            }
            ("tools", NodeContent::List(tools)) => fill_tools(tools, meaning, &mut skipped.tools),
            _ => substitute::variables(section, meaning),
        };
        filled.map_err(|problem| problem.inside(PathStep::key(&key.name)))?;
    }
    Ok(skipped)
}

/// Runs `fill` so that a `${…}` whose value is missing stays, and returns the missing values.
///
/// # Errors
/// As `fill`.
pub(super) fn tolerating(
    meaning: Meaning<'_>,
    fill: impl FnOnce(Meaning<'_>) -> Result<(), ConfigProblem>,
) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
    let missing = RefCell::new(BTreeSet::new());
    let tolerant = |asked: &str| match meaning(asked) {
        Err(SubstitutionError::Missing(what)) => {
            missing.borrow_mut().insert(what);
            Ok(None)
        }
        filled => filled,
    };
    fill(&tolerant)?;
    Ok(missing.into_inner())
}

/// Fills in the servers. A skipped one stays among the settings, because it keeps its name and prefix, and is shown
/// (SPEC TL-4).
fn fill_servers(
    servers: &mut [(ConfigKey, ConfigNode)],
    meaning: Meaning<'_>,
    skipped: &mut SkippedEntries,
) -> Result<(), ConfigProblem> {
    for (name, server) in servers {
        let filled = fill_server(server, meaning);
        let missing = filled.map_err(|problem| problem.inside(PathStep::key(&name.name)))?;
        skipped.add_server(&name.name, &missing);
    }
    Ok(())
}

/// Fills in the variables of a server and returns the missing values, whose `${…}` stay.
///
/// # Errors
/// The syntax of a `${…}` is wrong.
pub(super) fn fill_server(
    server: &mut ConfigNode,
    meaning: Meaning<'_>,
) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
    let mut missing = BTreeSet::new();
    // A disabled server needs no variables: often it is disabled because they are missing.
    let (false, NodeContent::Table(settings)) = (server.is_switched_off(), &mut server.content)
    else {
        return Ok(missing);
    };
    let mut unreadable = BTreeSet::new();
    for (key, value) in &mut *settings {
        let filled = tolerating(meaning, |tolerant| substitute::variables(value, tolerant));
        let filled = filled.map_err(|problem| problem.inside(PathStep::key(&key.name)))?;
        // For example, a duration cannot be parsed while its variable is missing.
        if !filled.is_empty() && !TEXTS.contains(&key.name.as_str()) {
            unreadable.insert(key.name.clone());
        }
        missing.extend(filled);
    }
    settings.retain(|(key, _)| !unreadable.contains(&key.name));
    Ok(missing)
}

/// Fills in the APIs. A skipped one stays among the settings, because it keeps its name, and is shown.
fn fill_apis(
    apis: &mut [(ConfigKey, ConfigNode)],
    meaning: Meaning<'_>,
    skipped: &mut IndexMap<String, String>,
) -> Result<(), ConfigProblem> {
    for (name, api) in apis {
        let filled = tolerating(meaning, |tolerant| substitute::variables(api, tolerant));
        let missing = filled.map_err(|problem| problem.inside(PathStep::key(&name.name)))?;
        if !missing.is_empty() {
            skipped.insert(name.name.clone(), reason(&missing));
        }
    }
    Ok(())
}

/// Removes the entries in which a value is missing, if they may be skipped.
fn drop_unfilled(
    entries: &mut Vec<(ConfigKey, ConfigNode)>,
    meaning: Meaning<'_>,
    skipped: &mut IndexMap<String, String>,
    may_skip: impl Fn(&str) -> bool,
) -> Result<(), ConfigProblem> {
    for (key, node) in &mut *entries {
        let inside = |problem: ConfigProblem| problem.inside(PathStep::key(&key.name));
        if !may_skip(&key.name) {
            substitute::variables(node, meaning).map_err(inside)?;
            continue;
        }
        let missing = tolerating(meaning, |tolerant| substitute::variables(node, tolerant));
        let missing = missing.map_err(inside)?;
        if !missing.is_empty() {
            skipped.insert(key.name.clone(), reason(&missing));
        }
    }
    entries.retain(|(key, _)| !skipped.contains_key(&key.name));
    Ok(())
}

/// Removes the definitions in which a value is missing. One without a name is invalid anyway.
fn fill_tools(
    tools: &mut Vec<ConfigNode>,
    meaning: Meaning<'_>,
    skipped: &mut IndexMap<String, String>,
) -> Result<(), ConfigProblem> {
    let mut filled = Vec::with_capacity(tools.len());
    for (index, mut tool) in std::mem::take(tools).into_iter().enumerate() {
        let step = PathStep::item(index, &tool);
        let fill = |meaning: Meaning<'_>| substitute::variables_of_tool(&mut tool, meaning);
        let missing = tolerating(meaning, fill).map_err(|problem| problem.inside(step))?;
        match tool.own_name().filter(|_| !missing.is_empty()) {
            Some(name) => _ = skipped.insert(name.to_owned(), reason(&missing)),
            None => filled.push(tool),
        }
    }
    *tools = filled;
    Ok(())
}

/// Whether a key of `[builtins]` is the name of a tool.
fn is_builtin(name: &str) -> bool {
    builtins::all(&BuiltinsConfig::default()).iter().any(|tool| tool.spec().name == name)
}

#[cfg(test)]
mod tests;
