//! One foreign server → one entry of `[servers]`.

use serde_json::Number;

use super::{
    super::node::{ConfigKey, ConfigNode, NodeContent},
    Dialect, syntax,
    tool_rules::{ToolRules, ToolVerdict},
};

/// Our settings that are kept in a `servers` of VS Code's shape.
const OURS: &[&str] = &[
    "check",
    "connect_timeout",
    "enabled_tools",
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

/// Keys that are ignored without a note: they only describe a server, or set what is the default anyway.
const NOT_MISSED: &[&str] = &[
    "bundled",
    "comment",
    "description",
    "dev",
    "displayName",
    "display_name",
    "faviconUrl",
    "gallery",
    "icon",
    "name",
    "note",
    "remote",
    "required",
    "settings",
    "title",
    "trust",
    "version",
];

/// A foreign entry under our names.
#[derive(Debug)]
pub(super) struct Entry {
    dialect: Dialect,
    kept: Vec<(ConfigKey, ConfigNode)>,
    /// A file with more of its environment.
    pub(super) env_file: Option<ConfigNode>,
    pub(super) rules: ToolRules,
    /// The keys that mean nothing to us.
    pub(super) dropped: Vec<String>,
    /// The variables whose values the other program keeps elsewhere.
    pub(super) variables: Vec<String>,
    /// Why only the other program can use it.
    pub(super) problem: Option<String>,
}

impl Entry {
    /// Reads an entry; one that is not a table is returned as it is, and reported when the settings are read.
    pub(super) fn read(entry: ConfigNode, dialect: Dialect) -> (ConfigNode, Self) {
        let mut read = Self {
            dialect,
            kept: Vec::new(),
            env_file: None,
            rules: ToolRules::default(),
            dropped: Vec::new(),
            variables: Vec::new(),
            problem: None,
        };
        let line = entry.line;
        let NodeContent::Table(entries) = entry.content else { return (entry, read) };
        for (key, value) in entries {
            let value = read.in_our_syntax(value);
            read.take(&key, value);
        }
        let is_empty = |node: &ConfigNode| node.content == NodeContent::Table(Vec::new());
        read.kept.retain(|(_, node)| !is_empty(node));
        let node = ConfigNode::new(line, NodeContent::Table(std::mem::take(&mut read.kept)));
        (node, read)
    }

    fn in_our_syntax(&mut self, node: ConfigNode) -> ConfigNode {
        let content = match node.content {
            NodeContent::Text(text) => match syntax::ours(&text, self.dialect) {
                Ok(text) => NodeContent::Text(text),
                Err(problem) => {
                    self.problem = Some(problem);
                    NodeContent::Text(text)
                }
            },
            NodeContent::List(items) => {
                NodeContent::List(items.into_iter().map(|item| self.in_our_syntax(item)).collect())
            }
            NodeContent::Table(entries) => NodeContent::Table(
                entries.into_iter().map(|(key, node)| (key, self.in_our_syntax(node))).collect(),
            ),
            other => other,
        };
        ConfigNode::new(node.line, content)
    }

    fn take(&mut self, key: &ConfigKey, value: ConfigNode) {
        let line = value.line;
        match (key.name.as_str(), value.content) {
            (_, NodeContent::Null) => {}
            ("envFile", content @ NodeContent::Text(_)) => {
                self.env_file = Some(ConfigNode::new(line, content));
            }
            ("type" | "transport" | "transportType", NodeContent::Text(kind)) => {
                self.kind(key, &kind);
            }
            ("source", NodeContent::Text(source)) => self.source(&source),
            ("uses", NodeContent::Text(_)) => {
                self.problem = Some("it is a block of Continue's hub".to_owned());
            }
            // opencode has program and arguments in one list, older versions of Zed and Continue in a table.
            ("command", NodeContent::List(words)) => self.command(key, words),
            ("command" | "transport" | "config", NodeContent::Table(entries)) => {
                for (key, value) in entries {
                    self.take(&key, value);
                }
            }
            ("command" | "cmd" | "path", content) => self.set("command", key, content),
            ("cwd", content) => self.set("cwd", key, content),
            ("url" | "uri" | "serverUrl" | "httpUrl", content) => self.url(key, content),
            ("args", NodeContent::List(items)) => {
                self.set("args", key, NodeContent::List(texts(items)));
            }
            ("env" | "environment" | "envs", NodeContent::Table(entries)) => {
                self.extend("env", key, named_texts(entries));
            }
            ("headers" | "http_headers", NodeContent::Table(entries)) => {
                self.extend("headers", key, named_texts(entries));
            }
            (name @ ("args" | "env" | "headers"), content) => self.set(name, key, content),
            ("disabled", NodeContent::Bool(off)) => {
                self.set("enabled", key, NodeContent::Bool(!off));
            }
            ("enabled", content @ NodeContent::Bool(_)) => self.set("enabled", key, content),
            (name, content) if self.dialect == Dialect::Servers && is_ours(name, &content) => {
                self.set(name, key, content);
            }
            (_, content) => self.take_special(key, ConfigNode::new(line, content)),
        }
    }

    /// Takes keys that only some programs have: credentials by name, timeouts, lists of tools.
    fn take_special(&mut self, key: &ConfigKey, value: ConfigNode) {
        match (key.name.as_str(), value.content) {
            ("env_http_headers", NodeContent::Table(entries)) => {
                let entries = named_texts(entries).into_iter().map(|(key, node)| {
                    let content = match node.content {
                        NodeContent::Text(name) => NodeContent::Text(format!("${{{name}}}")),
                        other => other,
                    };
                    (key, ConfigNode::new(node.line, content))
                });
                self.extend("headers", key, entries.collect());
            }
            ("bearer_token_env_var", NodeContent::Text(name)) => {
                self.bearer(key, &format!("${{{name}}}"));
            }
            ("bearer_token" | "apiKey", NodeContent::Text(token)) => self.bearer(key, &token),
            ("env_vars", NodeContent::List(names)) => self.forwarded(key, &names, ":-"),
            // goose keeps their values in the keyring.
            ("env_keys", NodeContent::List(names)) => {
                self.forwarded(key, &names, "");
                self.variables.extend(names.iter().filter_map(named));
            }
            ("requestOptions", NodeContent::Table(entries)) => {
                for (key, value) in entries {
                    self.take(&key, value);
                }
            }
            ("tool_timeout_sec", NodeContent::Number(number)) => {
                self.duration("timeout", key, &number, 1000.0);
            }
            ("startup_timeout_sec", NodeContent::Number(number)) => {
                self.duration("connect_timeout", key, &number, 1000.0);
            }
            ("startup_timeout_ms" | "connectionTimeout", NodeContent::Number(number)) => {
                self.duration("connect_timeout", key, &number, 1.0);
            }
            ("timeout", NodeContent::Number(number)) => self.timeout(key, &number),
            (name, content) => self.take_tools(name, content),
        }
    }

    fn take_tools(&mut self, name: &str, content: NodeContent) {
        let is_list_of_all = |tools: &[String]| tools.iter().any(|tool| tool == "*");
        match (name, content) {
            (
                "enabled_tools" | "includeTools" | "available_tools" | "tools",
                NodeContent::List(items),
            ) => {
                let tools = own_names(&items);
                // In goose an empty list means all tools.
                let is_all =
                    is_list_of_all(&tools) || (tools.is_empty() && name == "available_tools");
                if !is_all {
                    let key = ConfigKey { name: name.to_owned(), line: 1 };
                    let tools =
                        tools.into_iter().map(|tool| ConfigNode::new(1, NodeContent::Text(tool)));
                    self.set("enabled_tools", &key, NodeContent::List(tools.collect()));
                }
            }
            ("disabled_tools" | "disabledTools" | "excludeTools", NodeContent::List(items)) => {
                for tool in own_names(&items) {
                    self.rules.add(ToolVerdict::Deny, &tool);
                }
            }
            ("alwaysAllow" | "autoApprove" | "always_allow", NodeContent::List(items)) => {
                for tool in own_names(&items) {
                    self.rules.add(ToolVerdict::Allow, &tool);
                }
            }
            ("alwaysAllow" | "autoApprove", NodeContent::Bool(_)) => {}
            ("default_tools_approval_mode", NodeContent::Text(mode)) if mode != "auto" => {
                match ToolVerdict::of(&mode) {
                    Some(verdict) => self.rules.add(verdict, "*"),
                    None => self.dropped.push(name.to_owned()),
                }
            }
            ("tools", NodeContent::Table(tools)) => {
                for (tool, settings) in tools {
                    self.approval_mode(&tool.name, &settings);
                }
            }
            _ if NOT_MISSED.contains(&name) || name.starts_with(['_', '$']) => {}
            _ => self.dropped.push(name.to_owned()),
        }
    }

    /// Codex's `tools.NAME.approval_mode`.
    fn approval_mode(&mut self, tool: &str, settings: &ConfigNode) {
        let NodeContent::Table(entries) = &settings.content else { return };
        for (key, value) in entries {
            match (key.name.as_str(), &value.content) {
                ("approval_mode", NodeContent::Text(mode)) if mode == "auto" => {}
                ("approval_mode", NodeContent::Text(mode)) if ToolVerdict::of(mode).is_some() => {
                    self.rules.add(ToolVerdict::of(mode).unwrap_or(ToolVerdict::Ask), tool);
                }
                (name, _) => self.dropped.push(format!("tools.{tool}.{name}")),
            }
        }
    }

    fn kind(&mut self, key: &ConfigKey, kind: &str) {
        let plain = kind.to_lowercase().replace(['-', '_'], "");
        match plain.as_str() {
            "stdio" | "local" => self.set("type", key, NodeContent::Text("stdio".to_owned())),
            "http" | "streamablehttp" => {
                self.set("type", key, NodeContent::Text("http".to_owned()));
            }
            "sse" => self.set("type", key, NodeContent::Text("sse".to_owned())),
            "builtin" | "platform" | "frontend" | "inlinepython" => {
                self.problem = Some(format!("it is part of goose (`type: {kind}`)"));
            }
            // If the type is unknown, the other keys decide.
            _ => {}
        }
    }

    fn source(&mut self, source: &str) {
        if source == "extension" {
            self.problem = Some("an extension of Zed starts it".to_owned());
        }
    }

    fn command(&mut self, key: &ConfigKey, words: Vec<ConfigNode>) {
        let mut words = texts(words).into_iter();
        if let Some(program) = words.next() {
            self.set("command", key, program.content);
            let args: Vec<_> = words.collect();
            if !args.is_empty() {
                self.set("args", key, NodeContent::List(args));
            }
        }
    }

    /// In Gemini CLI `url` means SSE, and `httpUrl` has precedence.
    fn url(&mut self, key: &ConfigKey, content: NodeContent) {
        let is_gemini = self.dialect == Dialect::Gemini;
        let has_http = is_gemini && self.has("url");
        if is_gemini && key.name == "httpUrl" {
            self.kept.retain(|(key, _)| key.name != "type");
            self.set("type", key, NodeContent::Text("http".to_owned()));
        } else if is_gemini && !has_http && !self.has("type") {
            self.set("type", key, NodeContent::Text("sse".to_owned()));
        }
        if key.name == "httpUrl" || !has_http {
            self.set("url", key, content);
        }
    }

    fn bearer(&mut self, key: &ConfigKey, token: &str) {
        let name = ConfigKey { name: "Authorization".to_owned(), line: key.line };
        let content = NodeContent::Text(format!("Bearer {token}"));
        self.extend("headers", key, vec![(name, ConfigNode::new(key.line, content))]);
    }

    /// Variables of our environment that the server gets; `:-` lets one be unset.
    fn forwarded(&mut self, key: &ConfigKey, names: &[ConfigNode], default: &str) {
        let names = names.iter().filter_map(named);
        let entries = names.map(|name| {
            let content = NodeContent::Text(format!("${{{name}{default}}}"));
            (ConfigKey { name, line: key.line }, ConfigNode::new(key.line, content))
        });
        self.extend("env", key, entries.collect());
    }

    /// Takes `timeout`: the program decides whether it is in seconds or milliseconds, and for calls or for connecting.
    fn timeout(&mut self, key: &ConfigKey, number: &Number) {
        match self.dialect {
            Dialect::Gemini => self.duration("timeout", key, number, 1.0),
            Dialect::Goose | Dialect::Zed => self.duration("timeout", key, number, 1000.0),
            Dialect::Opencode => self.duration("connect_timeout", key, number, 1.0),
            _ => self.dropped.push("timeout".to_owned()),
        }
    }

    fn duration(&mut self, name: &str, key: &ConfigKey, number: &Number, millis: f64) {
        let millis = number.as_f64().unwrap_or_default() * millis;
        if millis < 1.0 {
            return self.dropped.push(key.name.clone());
        }
        let text = match millis % 1000.0 == 0.0 {
            true => format!("{:.0}s", millis / 1000.0),
            false => format!("{millis:.0}ms"),
        };
        self.set(name, key, NodeContent::Text(text));
    }

    fn get(&self, name: &str) -> Option<&ConfigNode> {
        self.kept.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn set(&mut self, name: &str, key: &ConfigKey, content: NodeContent) {
        let node = ConfigNode::new(key.line, content);
        match self.kept.iter_mut().find(|(key, _)| key.name == name) {
            Some((_, there)) => *there = node,
            None => self.kept.push((ConfigKey { name: name.to_owned(), line: key.line }, node)),
        }
    }

    fn extend(&mut self, name: &str, key: &ConfigKey, more: Vec<(ConfigKey, ConfigNode)>) {
        if !self.has(name) {
            self.set(name, key, NodeContent::Table(Vec::new()));
        }
        let there = self.kept.iter_mut().find(|(key, _)| key.name == name);
        if let Some((_, ConfigNode { content: NodeContent::Table(entries), .. })) = there {
            entries.extend(more);
        }
    }
}

/// Whether the key is ours: other programs use some of the names for values of another type.
fn is_ours(name: &str, content: &NodeContent) -> bool {
    let fits = match name {
        "tools" | "rename" => matches!(content, NodeContent::Table(_)),
        "timeout" => matches!(content, NodeContent::Text(_)),
        _ => true,
    };
    fits && OURS.contains(&name)
}

/// Names of tools; Gemini CLI also knows `name(arguments)`.
fn own_names(items: &[ConfigNode]) -> Vec<String> {
    let names = items.iter().filter_map(named);
    names.map(|name| name.split('(').next().unwrap_or_default().trim().to_owned()).collect()
}

/// A name, or the `name` of a table.
fn named(node: &ConfigNode) -> Option<String> {
    match &node.content {
        NodeContent::Text(name) => Some(name.clone()),
        NodeContent::Table(_) => node.own_name().map(str::to_owned),
        _ => None,
    }
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
