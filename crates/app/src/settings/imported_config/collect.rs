//! Finds the servers in a foreign config.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    super::node::{ConfigKey, ConfigNode, NodeContent},
    Dialect, dialect,
};

/// Which of the projects in Claude Code's config are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projects {
    All,
    /// The project of the current folder, as Claude Code itself would choose.
    Current,
}

/// A server as the other config has it.
pub(super) struct ForeignEntry {
    pub(super) key: ConfigKey,
    pub(super) node: ConfigNode,
    /// The folder of the project that it belongs to.
    pub(super) project: Option<PathBuf>,
    /// Whether its project disables it.
    pub(super) is_off: bool,
}

impl ForeignEntry {
    fn new((key, node): (ConfigKey, ConfigNode)) -> Self {
        Self { key, node, project: None, is_off: false }
    }
}

/// Returns the servers, and the key that they stand under.
pub(super) fn servers(
    root: &ConfigNode,
    dialect: Dialect,
    projects: Projects,
) -> (&'static str, Vec<ForeignEntry>) {
    let (parent, key) = match dialect {
        Dialect::McpServers | Dialect::ClaudeCode | Dialect::Gemini | Dialect::Continue => {
            (Some(root), "mcpServers")
        }
        Dialect::Servers => (Some(root), "servers"),
        Dialect::Settings => (dialect::settings(root), "servers"),
        Dialect::Codex => (Some(root), "mcp_servers"),
        Dialect::Zed => (Some(root), "context_servers"),
        Dialect::Goose => (Some(root), "extensions"),
        Dialect::Opencode => (Some(root), "mcp"),
    };
    let mut found = entries(parent.and_then(|parent| parent.get(key)));
    if dialect == Dialect::ClaudeCode {
        let of_projects = of_projects(root, projects);
        if projects == Projects::Current {
            // A project's server is used in place of the user's.
            let is_kept = |entry: &ForeignEntry| {
                !of_projects.iter().any(|other| other.key.name == entry.key.name)
            };
            found.retain(is_kept);
        }
        found.extend(of_projects);
    }
    (key, found)
}

fn entries(node: Option<&ConfigNode>) -> Vec<ForeignEntry> {
    match node.map(|node| &node.content) {
        Some(NodeContent::Table(entries)) => {
            entries.iter().cloned().map(ForeignEntry::new).collect()
        }
        // In Continue's list, each server has a `name`.
        Some(NodeContent::List(items)) => {
            let named = items.iter().map(|item| {
                let name = item.own_name().unwrap_or("server").to_owned();
                ForeignEntry::new((ConfigKey { name, line: item.line }, item.clone()))
            });
            named.collect()
        }
        _ => Vec::new(),
    }
}

fn of_projects(root: &ConfigNode, which: Projects) -> Vec<ForeignEntry> {
    let Some(NodeContent::Table(projects)) = root.get("projects").map(|node| &node.content) else {
        return Vec::new();
    };
    let here = env::current_dir().unwrap_or_default();
    let is_meant = |folder: &str| which == Projects::All || here.starts_with(Path::new(folder));
    let meant = projects.iter().filter(|(key, _)| is_meant(&key.name));
    let found = meant.flat_map(|(key, project)| {
        let off = texts(project.get("disabledMcpServers"));
        let servers = entries(project.get("mcpServers")).into_iter();
        servers.map(move |entry| ForeignEntry {
            project: Some(PathBuf::from(&key.name)),
            is_off: off.contains(&entry.key.name),
            ..entry
        })
    });
    found.collect()
}

/// The texts of a list.
pub(super) fn texts(list: Option<&ConfigNode>) -> Vec<String> {
    let Some(NodeContent::List(items)) = list.map(|node| &node.content) else { return Vec::new() };
    let texts = items.iter().filter_map(|item| match &item.content {
        NodeContent::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}
