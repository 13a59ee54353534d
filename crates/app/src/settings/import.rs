//! The servers of another program's config, as they are to stand in ours.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use anyhow::{anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_mcp_client::ServerConfig;

use super::{
    foreign::{self, Workspace, environment_name, for_import},
    inputs::ConfigInput,
    json,
    node::{ConfigNode, NodeContent},
    text_of,
};

/// A server of another program's config.
#[derive(Debug)]
pub(crate) struct ForeignServer {
    /// The name that it can have with us.
    pub(crate) name: String,
    /// The name that it has there.
    pub(crate) given: String,
    /// What stands under `[servers.NAME]`.
    pub(crate) settings: Map<String, Value>,
    /// The variables that stand for what the other program would ask, and that must be set.
    pub(crate) variables: BTreeSet<String>,
    /// Why it cannot be used.
    pub(crate) problem: Option<String>,
}

/// Reads the servers of the config `file`.
///
/// # Errors
/// It cannot be read, or is no config of a program that we know.
pub(crate) fn servers_of(file: &Path, separator: &str) -> anyhow::Result<Vec<ForeignServer>> {
    let shown = file.display();
    let text = text_of(file)?;
    let tell = |problem| anyhow!("{shown}{problem}");
    let root = json::parse(&text).map_err(tell)?;
    let Some(dialect) = foreign::recognise(&root, file) else {
        bail!("{shown}: there is neither `mcpServers` nor VS Code's `servers` in it");
    };
    let config = foreign::adopt(&root, dialect, separator).map_err(tell)?;
    let workspace = Workspace::of(file);
    let inputs = config.inputs;
    let servers = config.servers.into_iter().map(|mut server| {
        let variables = RefCell::new(BTreeSet::new());
        let meaning = |asked: &str| {
            if let Some(id) = asked.strip_prefix("input:") {
                let name = environment_name(id);
                if let Some(default) = default_of(id, &inputs) {
                    return Ok(Some(format!("${{{name}:-{default}}}")));
                }
                variables.borrow_mut().insert(name);
            }
            Ok(for_import(asked, &workspace))
        };
        let filled =
            server.fill(&meaning, &workspace).map_err(|problem| format!("{shown}{problem}"));
        let problem = filled.err().or_else(|| problem_of(&server.node));
        let settings = match value(&server.node) {
            Value::Object(settings) => settings,
            _ => Map::new(),
        };
        let (name, given) = (server.key.name, server.given);
        ForeignServer { name, given, settings, variables: variables.into_inner(), problem }
    });
    Ok(servers.collect())
}

/// Returns what an empty answer to an input means, if it can stand between `${` and `}`.
fn default_of<'a>(id: &str, inputs: &'a [ConfigInput]) -> Option<&'a str> {
    let input = inputs.iter().find(|input| input.id == id)?;
    input.default.as_deref().filter(|default| !default.contains('}'))
}

/// What we would say of such a server if it stood in a config of ours.
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
