//! One foreign server → one entry of `[servers]`.

use super::{
    super::node::{ConfigKey, ConfigNode, NodeContent},
    Dialect,
};

/// Settings of ours that may stand in a `servers` that has the shape of VS Code's.
const OURS: &[&str] = &[
    "check",
    "connect_timeout",
    "idle_stop",
    "inherit_env",
    "max_concurrent",
    "max_output",
    "normalize",
    "prefix",
    "progress_extends_timeout",
    "protocol",
    "rename",
    "share",
    "start",
    "strict",
    "timeout",
    "tools",
    "validate",
];

/// The entry with the keys that we know, under our names; and the file that has more of its environment.
pub(super) fn ours(entry: ConfigNode, dialect: Dialect) -> (ConfigNode, Option<ConfigNode>) {
    let line = entry.line;
    let NodeContent::Table(entries) = entry.content else {
        return (entry, None);
    };
    let mut env_file = None;
    let mut kept: Vec<(ConfigKey, ConfigNode)> = Vec::new();
    for (key, value) in entries {
        let renamed = |name: &str, content| {
            Some((
                ConfigKey { name: name.to_owned(), line: key.line },
                ConfigNode::new(value.line, content),
            ))
        };
        let entry = match (key.name.as_str(), value.content) {
            (_, NodeContent::Null) => None,
            ("envFile", content @ NodeContent::Text(_)) => {
                env_file = Some(ConfigNode::new(value.line, content));
                None
            }
            ("type" | "transport" | "transportType", NodeContent::Text(kind)) => known_type(&kind)
                .and_then(|kind| renamed("type", NodeContent::Text(kind.to_owned()))),
            (name @ ("command" | "cwd" | "url"), content) => renamed(name, content),
            ("serverUrl" | "httpUrl", content) => renamed("url", content),
            ("args", NodeContent::List(items)) => renamed("args", NodeContent::List(texts(items))),
            (name @ ("env" | "headers"), NodeContent::Table(entries)) => {
                renamed(name, NodeContent::Table(named_texts(entries)))
            }
            (name @ ("args" | "env" | "headers"), content) => renamed(name, content),
            ("disabled", NodeContent::Bool(off)) => renamed("enabled", NodeContent::Bool(!off)),
            ("enabled", content @ NodeContent::Bool(_)) => renamed("enabled", content),
            (name, content) if dialect == Dialect::Servers && is_ours(name, &content) => {
                renamed(name, content)
            }
            _ => None,
        };
        kept.extend(entry);
    }
    (ConfigNode::new(line, NodeContent::Table(kept)), env_file)
}

/// How we call a transport; one that nobody knows is left to the other keys.
fn known_type(kind: &str) -> Option<&'static str> {
    match kind.to_lowercase().replace(['-', '_'], "").as_str() {
        "stdio" | "local" => Some("stdio"),
        "http" | "streamablehttp" => Some("http"),
        "sse" => Some("sse"),
        _ => None,
    }
}

/// Others use some of these words for something else, in another form.
fn is_ours(name: &str, content: &NodeContent) -> bool {
    let fits = match name {
        "tools" | "rename" => matches!(content, NodeContent::Table(_)),
        "timeout" => matches!(content, NodeContent::Text(_)),
        _ => true,
    };
    fits && OURS.contains(&name)
}

/// `null` stands for a variable that is not to be set.
fn named_texts(entries: Vec<(ConfigKey, ConfigNode)>) -> Vec<(ConfigKey, ConfigNode)> {
    let given = entries.into_iter().filter(|(_, node)| node.content != NodeContent::Null);
    given.map(|(key, node)| (key, text(node))).collect()
}

fn texts(items: Vec<ConfigNode>) -> Vec<ConfigNode> {
    items.into_iter().map(text).collect()
}

/// Numbers and booleans as the child sees them.
fn text(node: ConfigNode) -> ConfigNode {
    let content = match node.content {
        NodeContent::Number(number) => NodeContent::Text(number.to_string()),
        NodeContent::Bool(value) => NodeContent::Text(value.to_string()),
        other => other,
    };
    ConfigNode::new(node.line, content)
}
