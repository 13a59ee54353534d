//! Tells a model what it can search for: the servers, and what they are about (SPEC FT-3).

use std::sync::Arc;

use indexmap::IndexMap;
use switchboard_runtime::{RegisteredTool, ToolManager};
use switchboard_toolcall::ToolSpec;

use crate::offered_tools::shortened_line;

/// How many servers are described; the others are counted.
const MOST_SERVERS: usize = 25;
/// How many characters describe a server.
const ABOUT: usize = 100;
/// How many tools stand for a server that says nothing of itself.
const EXAMPLES: usize = 3;

/// Returns the definition of `tool_search` with what can be found.
pub(crate) fn search_spec(
    search: &RegisteredTool,
    tools: &[Arc<RegisteredTool>],
    manager: &ToolManager,
) -> ToolSpec {
    let spec = search.spec();
    let instructions = manager.instructions();
    let mut servers = IndexMap::<Option<Arc<str>>, Vec<&RegisteredTool>>::new();
    for tool in tools {
        servers.entry(server_of(tool, manager.separator())).or_default().push(tool);
    }
    let mut lines: Vec<String> = Vec::new();
    for (server, tools) in servers.iter().take(MOST_SERVERS) {
        let said = server.as_ref().and_then(|server| instructions.get(server));
        let about = said.map(|text| first_sentence(text)).filter(|text| !text.is_empty());
        let about = about.unwrap_or_else(|| examples(tools));
        let name = server.as_deref().unwrap_or("others");
        lines.push(format!("- {} ({}): {about}", shortened_line(name, 40), tools.len()));
    }
    if servers.len() > MOST_SERVERS {
        lines.push(format!("- and {} more", servers.len() - MOST_SERVERS));
    }
    let description = format!(
        "{}\nThere are {} more tools than you see. Search for one before you say that something cannot be done. Tools of:\n{}",
        spec.description,
        tools.len(),
        lines.join("\n")
    );
    ToolSpec { name: search.name().to_string(), description, ..spec.clone() }
}

/// Returns the server whose tool it is. A gateway, whose tools are shown under the names that it gives them, has servers of
/// its own: the tool's name begins with theirs.
fn server_of(tool: &RegisteredTool, separator: &str) -> Option<Arc<str>> {
    let server = tool.spec().server()?;
    let [.., own] = tool.names();
    if tool.is_renamed() || own != &**tool.name() {
        return Some(server.clone());
    }
    match own.split_once(separator) {
        Some((behind, _)) if !behind.is_empty() => Some(behind.into()),
        _ => Some(server.clone()),
    }
}

/// Returns what a server says of itself first.
fn first_sentence(text: &str) -> String {
    let line = text.trim().trim_start_matches(['#', ' ']);
    let end = line.find(". ").or_else(|| line.find('\n')).unwrap_or(line.len());
    shortened_line(&line[..end], ABOUT)
}

/// Returns the names of some tools, in words.
fn examples(tools: &[&RegisteredTool]) -> String {
    let bare = |tool: &&RegisteredTool| {
        let name = if tool.is_renamed() { &**tool.name() } else { tool.names()[2] };
        name.replace(['_', '-'], " ")
    };
    let names: Vec<_> = tools.iter().take(EXAMPLES).map(bare).collect();
    let more = if tools.len() > EXAMPLES { ", …" } else { "" };
    shortened_line(&format!("{}{more}", names.join(", ")), ABOUT)
}
