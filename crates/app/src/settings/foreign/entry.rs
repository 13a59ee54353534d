//! One foreign server → one entry of `[servers]`.

use super::{
    super::node::{Content, Key, Node},
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
pub(super) fn ours(entry: Node, dialect: Dialect) -> (Node, Option<Node>) {
    let line = entry.line;
    let Content::Table(entries) = entry.content else {
        return (entry, None);
    };
    let mut env_file = None;
    let mut kept: Vec<(Key, Node)> = Vec::new();
    for (key, value) in entries {
        let renamed = |name: &str, content| {
            Some((Key { name: name.to_owned(), line: key.line }, Node::new(value.line, content)))
        };
        let entry = match (key.name.as_str(), value.content) {
            (_, Content::Null) => None,
            ("envFile", content @ Content::Text(_)) => {
                env_file = Some(Node::new(value.line, content));
                None
            }
            ("type" | "transport" | "transportType", Content::Text(kind)) => {
                known_type(&kind).and_then(|kind| renamed("type", Content::Text(kind.to_owned())))
            }
            (name @ ("command" | "cwd" | "url"), content) => renamed(name, content),
            ("serverUrl" | "httpUrl", content) => renamed("url", content),
            ("args", Content::List(items)) => renamed("args", Content::List(texts(items))),
            (name @ ("env" | "headers"), Content::Table(entries)) => {
                renamed(name, Content::Table(named_texts(entries)))
            }
            (name @ ("args" | "env" | "headers"), content) => renamed(name, content),
            ("disabled", Content::Bool(off)) => renamed("enabled", Content::Bool(!off)),
            ("enabled", content @ Content::Bool(_)) => renamed("enabled", content),
            (name, content) if dialect == Dialect::Servers && is_ours(name, &content) => {
                renamed(name, content)
            }
            _ => None,
        };
        kept.extend(entry);
    }
    (Node::new(line, Content::Table(kept)), env_file)
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
fn is_ours(name: &str, content: &Content) -> bool {
    let fits = match name {
        "tools" | "rename" => matches!(content, Content::Table(_)),
        "timeout" => matches!(content, Content::Text(_)),
        _ => true,
    };
    fits && OURS.contains(&name)
}

/// `null` stands for a variable that is not to be set.
fn named_texts(entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
    let given = entries.into_iter().filter(|(_, node)| node.content != Content::Null);
    given.map(|(key, node)| (key, text(node))).collect()
}

fn texts(items: Vec<Node>) -> Vec<Node> {
    items.into_iter().map(text).collect()
}

/// Numbers and booleans as the child sees them.
fn text(node: Node) -> Node {
    let content = match node.content {
        Content::Number(number) => Content::Text(number.to_string()),
        Content::Bool(value) => Content::Text(value.to_string()),
        other => other,
    };
    Node::new(node.line, content)
}
