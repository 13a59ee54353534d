//! The servers of another program's config, as they are to stand in ours.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_mcp_client::ServerConfig;

use super::{
    imported_config::{
        self, AdoptedServer, Dialect, Projects, ToolRules, Workspace, environment_name, for_import,
    },
    inputs::ConfigInput,
    node::{ConfigKey, ConfigNode, NodeContent},
    parse_any, text_of,
};

/// A server of another program's config.
#[derive(Debug)]
pub(crate) struct ForeignServer {
    /// The name that it can have with us.
    pub(crate) name: String,
    /// The name that it has there.
    pub(crate) given: String,
    /// The entries of `[servers.NAME]`.
    pub(crate) settings: Map<String, Value>,
    /// The variables that must be set, in place of the inputs that the other program would ask for.
    pub(crate) variables: BTreeSet<String>,
    /// The variables of its `env` that came from a file.
    pub(crate) from_env_file: Vec<String>,
    /// The rules for its tools in that config.
    pub(crate) rules: ToolRules,
    /// Its keys that mean nothing to us.
    pub(crate) dropped: Vec<String>,
    /// The folder of the project that it belongs to.
    pub(crate) project: Option<PathBuf>,
    /// Why it cannot be used.
    pub(crate) problem: Option<String>,
}

/// Reads the servers of the config `file`. With `expected`, the config may be one without servers, which cannot be
/// recognised.
///
/// # Errors
/// The file cannot be read, or is not a config of a known program.
pub(crate) fn servers_of(
    file: &Path,
    expected: Option<Dialect>,
    separator: &str,
) -> anyhow::Result<Vec<ForeignServer>> {
    let shown = file.display();
    let tell = |problem| anyhow!("{shown}{problem}");
    let (root, found) = parse_any(&text_of(file)?, file).map_err(tell)?;
    let Some(dialect) = found.or(expected) else {
        bail!(
            "{shown}: there is neither `mcpServers`, VS Code's `servers`, Codex's `mcp_servers`, Zed's `context_servers` nor opencode's `mcp` in it"
        );
    };
    let mut config =
        imported_config::adopt(&root, dialect, separator, Projects::All).map_err(tell)?;
    for file in files_with_permissions(file, dialect) {
        // A file that cannot be read is ignored: most people have none of these files.
        let read = text_of(&file).ok().and_then(|text| parse_permissions(&text, &file));
        if let Some(root) = read {
            config.apply_permissions(&root, dialect);
        }
    }
    let workspace = Workspace::of(file);
    let inputs = config.inputs;
    let servers = config.servers.into_iter();
    Ok(servers.map(|server| imported(server, &inputs, &workspace, file)).collect())
}

/// Returns the files in which the program keeps permissions, apart from its servers.
fn files_with_permissions(file: &Path, dialect: Dialect) -> Vec<PathBuf> {
    let beside = |name: &str| file.with_file_name(name);
    let is_project = file.file_name().is_some_and(|name| name == ".mcp.json");
    match dialect {
        Dialect::Goose => vec![beside("permission.yaml")],
        Dialect::ClaudeCode => vec![beside(".claude/settings.json")],
        Dialect::McpServers if is_project => {
            vec![beside(".claude/settings.json"), beside(".claude/settings.local.json")]
        }
        _ => Vec::new(),
    }
}

fn parse_permissions(text: &str, file: &Path) -> Option<ConfigNode> {
    match file.extension().is_some_and(|end| end == "yaml") {
        true => super::yaml::parse(text).ok(),
        false => super::json::parse(text).ok(),
    }
}

fn imported(
    mut server: AdoptedServer,
    inputs: &[ConfigInput],
    workspace: &Workspace,
    file: &Path,
) -> ForeignServer {
    let variables = RefCell::new(BTreeSet::from_iter(server.variables.drain(..)));
    let meaning = |asked: &str| {
        if let Some(id) = asked.strip_prefix("input:") {
            let name = environment_name(id);
            if let Some(default) = default_of(id, inputs) {
                return Ok(Some(format!("${{{name}:-{default}}}")));
            }
            variables.borrow_mut().insert(name);
        }
        Ok(for_import(asked, workspace))
    };
    // The variables of a disabled server are converted, too: somebody may enable it.
    let is_off = take_enabled(&mut server.node) == Some(false);
    let filled = server.fill(&meaning, workspace);
    let filled = filled.map_err(|problem| format!("{}{problem}", file.display()));
    let problem = server.problem.or(filled.err()).or_else(|| problem_of(&server.node));
    let mut settings = match value(&server.node) {
        Value::Object(settings) => settings,
        _ => Map::new(),
    };
    in_project(&mut settings, server.project.as_deref());
    if is_off {
        settings.insert("enabled".to_owned(), false.into());
    }
    ForeignServer {
        name: server.key.name,
        given: server.given,
        settings,
        variables: variables.into_inner(),
        from_env_file: server.from_env_file,
        rules: server.rules,
        dropped: server.dropped,
        project: server.project,
        problem,
    }
}

/// Takes `enabled` out of an entry.
fn take_enabled(node: &mut ConfigNode) -> Option<bool> {
    let NodeContent::Table(entries) = &mut node.content else { return None };
    let is_enabled = |(key, _): &(ConfigKey, ConfigNode)| key.name == "enabled";
    let at = entries.iter().position(is_enabled)?;
    match entries.remove(at).1.content {
        NodeContent::Bool(value) => Some(value),
        _ => None,
    }
}

/// Sets the project's folder as the working folder of a server whose command uses relative paths.
fn in_project(settings: &mut Map<String, Value>, project: Option<&Path>) {
    let Some(folder) = project.filter(|_| !settings.contains_key("cwd")) else { return };
    let is_relative = |text: &str| text == "." || text.starts_with("./") || text.starts_with("../");
    let args = settings.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = settings.get("command").into_iter().chain(args);
    if words.filter_map(Value::as_str).any(is_relative) {
        settings.insert("cwd".to_owned(), folder.display().to_string().into());
    }
}

/// Returns what an empty answer to an input means, if it can stand between `${` and `}`.
fn default_of<'a>(id: &str, inputs: &'a [ConfigInput]) -> Option<&'a str> {
    let input = inputs.iter().find(|input| input.id == id)?;
    input.default.as_deref().filter(|default| !default.contains('}'))
}

/// Returns the problem that such a server would have in a config of ours.
fn problem_of(node: &ConfigNode) -> Option<String> {
    match ServerConfig::deserialize(node.clone()) {
        Ok(config) => config.kind().err(),
        Err(problem) => Some(problem.to_string().trim_start_matches([':', ' ']).to_owned()),
    }
}

fn value(node: &ConfigNode) -> Value {
    match &node.content {
        NodeContent::Null => Value::Null,
        NodeContent::Bool(value) => Value::Bool(*value),
        NodeContent::Number(number) => Value::Number(number.clone()),
        NodeContent::Text(text) => Value::String(text.clone()),
        NodeContent::List(items) => items.iter().map(value).collect(),
        NodeContent::Table(entries) => {
            entries.iter().map(|(key, node)| (key.name.clone(), value(node))).collect()
        }
    }
}
