//! Rules for servers and tools that a foreign config has outside of the servers' own entries.

use super::{
    super::node::{ConfigKey, ConfigNode, NodeContent},
    AdoptedServer, Dialect,
    collect::texts,
    tool_rules::ToolVerdict,
};

/// Applies the lists that the config itself has elsewhere.
pub(super) fn apply(root: &ConfigNode, dialect: Dialect, servers: &mut [AdoptedServer]) {
    match dialect {
        Dialect::Gemini => gemini(root, servers),
        Dialect::Opencode => opencode(root, servers),
        Dialect::Zed => zed(root, servers),
        _ => {}
    }
}

/// Applies Claude Code's `settings.json`: `permissions` and `disabledMcpjsonServers`.
pub(super) fn claude_code(root: &ConfigNode, servers: &mut [AdoptedServer]) {
    let off = texts(root.get("disabledMcpjsonServers"));
    for server in servers.iter_mut().filter(|server| off.contains(&server.given)) {
        server.switch_off();
    }
    let Some(permissions) = root.get("permissions") else { return };
    for word in ["deny", "ask", "allow"] {
        let Some(verdict) = ToolVerdict::of(word) else { continue };
        for rule in texts(permissions.get(word)) {
            // `mcp__github__get_issue`, `mcp__github__*` or `mcp__github`.
            let Some(rule) = rule.strip_prefix("mcp__") else { continue };
            let (name, tool) = rule.split_once("__").unwrap_or((rule, "*"));
            for server in servers.iter_mut().filter(|server| plain(&server.given) == name) {
                server.rules.add(verdict, tool);
            }
        }
    }
}

/// Applies goose's `permission.yaml`.
pub(super) fn goose(root: &ConfigNode, servers: &mut [AdoptedServer]) {
    let Some(user) = root.get("user") else { return };
    for word in ["never_allow", "ask_before", "always_allow"] {
        let Some(verdict) = ToolVerdict::of(word) else { continue };
        for rule in texts(user.get(word)) {
            let Some((name, tool)) = rule.split_once("__") else { continue };
            for server in servers.iter_mut().filter(|server| plain(&server.given) == name) {
                server.rules.add(verdict, tool);
            }
        }
    }
}

/// Gemini CLI's `mcp.allowed` and `mcp.excluded`, and what they were called before.
fn gemini(root: &ConfigNode, servers: &mut [AdoptedServer]) {
    let list = |new: &str, old: &str| {
        let new = root.get("mcp").and_then(|mcp| mcp.get(new));
        new.or_else(|| root.get(old)).map(|list| texts(Some(list)))
    };
    let allowed = list("allowed", "allowMCPServers");
    let excluded = list("excluded", "excludeMCPServers").unwrap_or_default();
    for server in servers {
        let is_allowed = allowed.as_ref().is_none_or(|names| names.contains(&server.given));
        if !is_allowed || excluded.contains(&server.given) {
            server.switch_off();
        }
    }
}

/// opencode's `tools` (false: not used) and `permission`, by globs over `server_tool`.
fn opencode(root: &ConfigNode, servers: &mut [AdoptedServer]) {
    let table = |name: &str| match root.get(name).map(|node| &node.content) {
        Some(NodeContent::Table(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let verdict = |node: &ConfigNode| match &node.content {
        NodeContent::Bool(false) => Some(ToolVerdict::Deny),
        NodeContent::Text(word) => ToolVerdict::of(word),
        _ => None,
    };
    for (ConfigKey { name: pattern, .. }, node) in
        table("tools").into_iter().chain(table("permission"))
    {
        let Some(verdict) = verdict(&node) else { continue };
        for server in servers.iter_mut() {
            let name = plain(&server.given);
            let rest = pattern.strip_prefix(&name);
            match rest.and_then(|rest| rest.strip_prefix('_').or((rest == "*").then_some(rest))) {
                Some(tool) if !tool.is_empty() => server.rules.add(verdict, tool),
                _ => {}
            }
        }
    }
}

/// Zed's `agent.tool_permissions.tools."mcp:SERVER:TOOL".default`.
fn zed(root: &ConfigNode, servers: &mut [AdoptedServer]) {
    let permissions = root.get("agent").and_then(|agent| agent.get("tool_permissions"));
    let tools = permissions.and_then(|permissions| permissions.get("tools"));
    let Some(NodeContent::Table(tools)) = tools.map(|tools| &tools.content) else { return };
    for (key, node) in tools {
        let Some((name, tool)) =
            key.name.strip_prefix("mcp:").and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let word = match (&node.content, node.get("default").map(|node| &node.content)) {
            (NodeContent::Text(word), _) | (_, Some(NodeContent::Text(word))) => word,
            _ => continue,
        };
        let Some(verdict) = ToolVerdict::of(word) else { continue };
        for server in servers.iter_mut().filter(|server| server.given == name) {
            server.rules.add(verdict, tool);
        }
    }
}

/// Returns a server's name as it is written in that program's tool names.
fn plain(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_")
}
