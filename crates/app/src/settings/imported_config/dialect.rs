//! Recognises whose config a file is.

use std::path::Path;

use super::super::{
    find::FILE_NAME,
    node::{ConfigNode, NodeContent},
};

/// The program whose format a config has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `mcpServers`: Claude Desktop, Cursor, Windsurf and many more.
    McpServers,
    /// `mcpServers`, and those of each project below `projects`: Claude Code's `~/.claude.json`.
    ClaudeCode,
    /// `mcpServers`, in which `url` means SSE and `$VAR` a variable: Gemini CLI.
    Gemini,
    /// `servers` and `inputs`: VS Code's `mcp.json`.
    Servers,
    /// `mcp.servers` and `mcp.inputs`: VS Code's `settings.json` and workspace files.
    Settings,
    /// `mcp_servers`, in TOML.
    Codex,
    /// `context_servers`.
    Zed,
    /// `extensions`, in YAML.
    Goose,
    /// A list `mcpServers`, in YAML.
    Continue,
    /// `mcp`, whose servers are `local` or `remote`.
    Opencode,
}

/// Sections of ours that no other program's TOML has beside `mcp_servers`.
const OUR_SECTIONS: [&str; 6] = ["servers", "executor", "policy", "serve", "models", "builtins"];

/// Returns whose config a document is; `None` if it is ours or unknown.
pub(crate) fn recognise(root: &ConfigNode, file: &Path) -> Option<Dialect> {
    let NodeContent::Table(entries) = &root.content else {
        return None;
    };
    let has_only_theirs =
        entries.iter().all(|(key, _)| matches!(key.name.as_str(), "servers" | "inputs"));
    let is_named = |name: &str| file.file_name().is_some_and(|file| file == name);
    if is_named(".claude.json") || has_projects(root) {
        Some(Dialect::ClaudeCode)
    } else if let Some(servers) = table(root.get("mcpServers")) {
        Some(if is_gemini(servers, file) { Dialect::Gemini } else { Dialect::McpServers })
    } else if is_list_of_servers(root.get("mcpServers")) {
        Some(Dialect::Continue)
    } else if table(root.get("servers")).is_some() && (is_named("mcp.json") || has_only_theirs) {
        Some(Dialect::Servers)
    } else if table(settings(root).and_then(|mcp| mcp.get("servers"))).is_some() {
        Some(Dialect::Settings)
    } else if table(root.get("context_servers")).is_some() {
        Some(Dialect::Zed)
    } else if is_codex(root, file) {
        Some(Dialect::Codex)
    } else if is_opencode(root) || is_named("opencode.json") || is_named("opencode.jsonc") {
        Some(Dialect::Opencode)
    } else {
        None
    }
}

/// Returns whose config a YAML document is.
pub(crate) fn recognise_yaml(root: &ConfigNode, file: &Path) -> Option<Dialect> {
    match table(root.get("extensions")) {
        Some(_) => Some(Dialect::Goose),
        None => recognise(root, file).filter(|dialect| {
            matches!(dialect, Dialect::McpServers | Dialect::Gemini | Dialect::Continue)
        }),
    }
}

/// VS Code's `mcp` of its settings, or of a workspace file.
pub(super) fn settings(root: &ConfigNode) -> Option<&ConfigNode> {
    root.get("mcp").or_else(|| root.get("settings")?.get("mcp"))
}

fn table(node: Option<&ConfigNode>) -> Option<&ConfigNode> {
    node.filter(|node| matches!(node.content, NodeContent::Table(_)))
}

fn has_projects(root: &ConfigNode) -> bool {
    let Some(NodeContent::Table(projects)) = root.get("projects").map(|node| &node.content) else {
        return false;
    };
    projects.iter().any(|(_, project)| table(project.get("mcpServers")).is_some())
}

fn is_list_of_servers(node: Option<&ConfigNode>) -> bool {
    let Some(NodeContent::List(items)) = node.map(|node| &node.content) else { return false };
    items.iter().all(|item| table(Some(item)).is_some())
}

/// Recognises Gemini CLI by the file's folder, or by keys that only its config has.
fn is_gemini(servers: &ConfigNode, file: &Path) -> bool {
    let is_its_folder =
        file.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".gemini");
    let has_its_keys = |server: &ConfigNode| {
        ["httpUrl", "includeTools", "excludeTools"].iter().any(|key| server.get(key).is_some())
    };
    let NodeContent::Table(servers) = &servers.content else { return false };
    is_its_folder || servers.iter().any(|(_, server)| has_its_keys(server))
}

fn is_codex(root: &ConfigNode, file: &Path) -> bool {
    let is_named_as_ours = file.file_name().is_some_and(|name| name == FILE_NAME);
    let has_ours = OUR_SECTIONS.iter().any(|section| root.get(section).is_some());
    table(root.get("mcp_servers")).is_some() && !is_named_as_ours && !has_ours
}

fn is_opencode(root: &ConfigNode) -> bool {
    let Some(NodeContent::Table(servers)) = root.get("mcp").map(|node| &node.content) else {
        return false;
    };
    let is_kind = |server: &ConfigNode| {
        let kind = server.get("type").map(|kind| &kind.content);
        matches!(kind, Some(NodeContent::Text(kind)) if kind == "local" || kind == "remote")
    };
    servers.iter().any(|(_, server)| is_kind(server))
}
