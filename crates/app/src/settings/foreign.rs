//! Configs of Claude Desktop, Cursor, VS Code and their kin, taken as they are (SPEC MC-8).
//!
//! Their servers become entries of `[servers]`: keys that we know are kept, under our names; all others are theirs
//! and ignored. `${input:x}` stays for whoever starts the server, for only then is it worth asking.

mod entry;
pub(super) mod env_file;
mod names;
mod variables;

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
};

use super::{
    inputs::{self, ConfigInput},
    missing::MissingValue,
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
    skipped,
    substitute::{self, Meaning},
};

pub(super) use variables::{Workspace, environment_name, for_import, for_use};

/// Whose shape a config has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf and many more.
    McpServers,
    /// `servers` and `inputs`: VS Code's `mcp.json`.
    Servers,
    /// `mcp.servers` and `mcp.inputs`: VS Code's old `settings.json`.
    Settings,
}

/// The servers of a foreign config.
#[derive(Debug)]
pub(super) struct ForeignConfig {
    pub(super) servers: Vec<AdoptedServer>,
    /// What its `${input:…}` are.
    pub(super) inputs: Vec<ConfigInput>,
}

/// A foreign server as an entry of `[servers]`.
#[derive(Debug)]
pub(super) struct AdoptedServer {
    /// The name that it has with us.
    pub(super) key: ConfigKey,
    /// The name that it has there.
    pub(super) given: String,
    pub(super) node: ConfigNode,
    /// A file with more of its environment.
    env_file: Option<ConfigNode>,
}

/// Whose config a JSON document is; nobody's but ours, if this finds none.
pub(super) fn recognise(root: &ConfigNode, file: &Path) -> Option<Dialect> {
    let NodeContent::Table(entries) = &root.content else {
        return None;
    };
    let is_table = |node: Option<&ConfigNode>| matches!(node, Some(node) if matches!(node.content, NodeContent::Table(_)));
    let is_named_so = file.file_name().is_some_and(|name| name == "mcp.json");
    let has_only_theirs =
        entries.iter().all(|(key, _)| matches!(key.name.as_str(), "servers" | "inputs"));
    if is_table(root.get("mcpServers")) {
        Some(Dialect::McpServers)
    } else if is_table(root.get("servers")) && (is_named_so || has_only_theirs) {
        Some(Dialect::Servers)
    } else if is_table(root.get("mcp").and_then(|mcp| mcp.get("servers"))) {
        Some(Dialect::Settings)
    } else {
        None
    }
}

/// Takes the servers out of a foreign config.
///
/// # Errors
/// Two servers have the same name.
pub(super) fn adopt(
    root: &ConfigNode,
    dialect: Dialect,
    separator: &str,
) -> Result<ForeignConfig, ConfigProblem> {
    let (parent, servers) = match dialect {
        Dialect::McpServers => (Some(root), "mcpServers"),
        Dialect::Servers => (Some(root), "servers"),
        Dialect::Settings => (root.get("mcp"), "servers"),
    };
    let inputs =
        parent.and_then(|parent| parent.get("inputs")).map(inputs::read).unwrap_or_default();
    let entries = match parent.and_then(|parent| parent.get(servers)).map(|node| &node.content) {
        Some(NodeContent::Table(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let mut taken = HashSet::new();
    let mut adopted = Vec::with_capacity(entries.len());
    for (key, node) in entries {
        let name = names::usable(&key.name, separator);
        if !taken.insert(name.clone()) {
            let what = format!("two servers are called `{name}`; rename one of them");
            return Err(ConfigProblem::new(what).at(key.line).inside(PathStep::key(servers)));
        }
        let (node, env_file) = entry::ours(node, dialect);
        let (key, given) = (ConfigKey { name, line: key.line }, key.name);
        adopted.push(AdoptedServer { key, given, node, env_file });
    }
    Ok(ForeignConfig { servers: adopted, inputs })
}

impl ForeignConfig {
    /// Returns the servers as a config of ours, with nothing filled in. `envFile` stands where it stood.
    pub(super) fn as_node(&self) -> ConfigNode {
        let servers = self.servers.iter().map(|AdoptedServer { key, node, env_file, .. }| {
            let mut node = node.clone();
            if let (NodeContent::Table(entries), Some(file)) = (&mut node.content, env_file) {
                let key = ConfigKey { name: "envFile".to_owned(), line: file.line };
                entries.push((key, file.clone()));
            }
            (key.clone(), node)
        });
        let servers = ConfigNode::new(1, NodeContent::Table(servers.collect()));
        let key = ConfigKey { name: "servers".to_owned(), line: 1 };
        ConfigNode::new(1, NodeContent::Table(vec![(key, servers)]))
    }
}

impl AdoptedServer {
    /// Fills in what stands for something, and reads the file with more of its environment. Returns what is missing.
    ///
    /// # Errors
    /// A variable means nothing, or the file cannot be read.
    pub(super) fn fill(
        &mut self,
        meaning: Meaning<'_>,
        workspace: &Workspace,
    ) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
        self.fill_in(meaning, workspace).map_err(|problem| {
            problem.inside(PathStep::key(&self.key.name)).inside(PathStep::key("servers"))
        })
    }

    fn fill_in(
        &mut self,
        meaning: Meaning<'_>,
        workspace: &Workspace,
    ) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
        let mut missing = skipped::fill_server(&mut self.node, meaning)?;
        let env_file = self.env_file.take().filter(|_| !self.node.is_switched_off());
        let Some(mut file) = env_file else { return Ok(missing) };
        let in_file = |problem: ConfigProblem| problem.inside(PathStep::key("envFile"));
        let path =
            skipped::tolerating(meaning, |tolerant| substitute::variables(&mut file, tolerant));
        missing.extend(path.map_err(in_file)?);
        if missing.is_empty() {
            env_file::add(&mut self.node, &file, workspace).map_err(in_file)?;
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests;
