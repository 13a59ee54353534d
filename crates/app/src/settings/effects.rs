//! The effects that a config has outside this process: it starts programs, reads variables, reaches other machines
//! (SPEC PO-3).
//!
//! The lists here are of what is harmless, not of what is dangerous: a section or a kind of tool that is not listed
//! counts as an effect, so that one that is added later does, too.

use std::{cell::RefCell, collections::BTreeSet, fmt, path::Path};

use serde::Serialize;
use switchboard_models::Provider;
use switchboard_toolcall::text::visible;

use super::{
    ParsedConfig, definitions,
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::ConfigProblem,
    substitute,
};

/// Sections that only affect how this process handles calls. They start nothing and reach nothing.
const HARMLESS_SECTIONS: [&str; 4] = ["executor", "policy", "agent", "profiles"];

/// Kinds of tools that are answered by this process.
const HARMLESS_TOOLS: [&str; 3] = ["mock", "builtin", "internal"];

/// How many lines a small terminal shows.
const IN_SIGHT: usize = 20;

/// The effects of a config, as text that is safe to print.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Effects {
    /// Command lines that it starts.
    pub(crate) starts: Vec<String>,
    /// Environment variables, and files of variables, that it reads.
    pub(crate) reads: BTreeSet<String>,
    /// Addresses of servers that it connects to.
    pub(crate) connects: Vec<String>,
    /// All other settings that are not known to be harmless, as `key = value`.
    pub(crate) sets: Vec<String>,
}

impl Effects {
    /// Lists what the config would do. Reads no variable and no other file.
    ///
    /// # Errors
    /// The config is wrong in a way that reading it would find, too.
    pub(super) fn of(config: &ParsedConfig) -> Result<Self, ConfigProblem> {
        let root = match config {
            ParsedConfig::Ours(root) => definitions::one_shape(root.clone())?,
            ParsedConfig::Foreign(config) => config.as_node(),
        };
        let mut effects = Self { reads: variables(&root)?, ..Self::default() };
        for (key, node) in table(&root) {
            match key.name.as_str() {
                name if HARMLESS_SECTIONS.contains(&name) => {}
                "tools" => effects.add_tools(node),
                "servers" => {
                    for (name, server) in table(node) {
                        effects.add_server(&name.name, server);
                    }
                }
                "apis" => {
                    for (name, api) in table(node) {
                        effects.add_api(&name.name, api);
                    }
                }
                name => effects.add_settings(name, node),
            }
        }
        for (_, model) in root.get("models").into_iter().flat_map(table) {
            effects.add_key_of(model);
        }
        Ok(effects)
    }

    /// Whether the config can be used without being trusted.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a line that counts them if there are so many that the first may have scrolled away; else an empty string.
    pub(super) fn sum(&self) -> String {
        let counts = [
            (self.starts.len(), "programs"),
            (self.reads.len(), "variables"),
            (self.connects.len(), "addresses"),
            (self.sets.len(), "settings"),
        ];
        if counts.iter().map(|(count, _)| count).sum::<usize>() <= IN_SIGHT {
            return String::new();
        }
        let counts = counts.map(|(count, what)| format!("{count} {what}"));
        format!("\nThese are {}.", counts.join(", "))
    }

    fn add_tools(&mut self, tools: &ConfigNode) {
        let NodeContent::List(tools) = &tools.content else {
            return self.add_settings("tools", tools);
        };
        for (index, tool) in tools.iter().enumerate() {
            let Some(implementation) = tool.get("implementation") else {
                self.add_settings(&format!("tools[{index}]"), tool);
                continue;
            };
            let name = quoted(tool.own_name().unwrap_or_default());
            match text(implementation.get("type")) {
                Some(kind) if HARMLESS_TOOLS.contains(&kind) => {}
                Some("command") if text(implementation.get("program")).is_some() => {
                    self.add_command(&name, implementation);
                }
                Some("http") if text(implementation.get("url")).is_some() => {
                    self.add_request(&name, implementation);
                }
                _ => self.add_settings(&format!("tools[{index}]"), tool),
            }
        }
    }

    fn add_command(&mut self, name: &str, tool: &ConfigNode) {
        for (key, value) in table(tool) {
            match (key.name.as_str(), &value.content) {
                ("program", NodeContent::Text(program)) => {
                    let line = command_line(program, tool);
                    self.starts.push(format!("{line}{} (tool {name})", folder_of(tool)));
                }
                ("inherit_env", NodeContent::Bool(true)) => {
                    self.reads.insert(format!("the whole environment (tool {name})"));
                }
                _ => {}
            }
        }
    }

    fn add_request(&mut self, name: &str, tool: &ConfigNode) {
        // JSON may have a key twice, so all entries are checked.
        for (key, value) in table(tool) {
            if let ("url", NodeContent::Text(url)) = (key.name.as_str(), &value.content) {
                self.connects.push(format!("{} (tool {name})", quoted(url)));
            }
        }
    }

    fn add_server(&mut self, name: &str, server: &ConfigNode) {
        let before = (self.starts.len(), self.connects.len());
        let off = match server.get("enabled") {
            Some(ConfigNode { content: NodeContent::Bool(false), .. }) => ", switched off",
            _ => "",
        };
        // JSON may have a key twice, so all entries are checked.
        for (key, value) in table(server) {
            match (key.name.as_str(), &value.content) {
                ("command", NodeContent::Text(command)) => {
                    let line = command_line(command, server);
                    let place = folder_of(server);
                    self.starts.push(format!("{line}{place} (server {}{off})", quoted(name)));
                }
                ("url", NodeContent::Text(url)) => {
                    self.connects.push(format!("{} (server {}{off})", quoted(url), quoted(name)));
                }
                ("envFile", NodeContent::Text(file)) => {
                    self.reads.insert(format!("the file {}", quoted(file)));
                }
                ("inherit_env", NodeContent::Bool(true)) => {
                    let whole = format!("the whole environment (server {}{off})", quoted(name));
                    self.reads.insert(whole);
                }
                ("oauth", _) => self.add_oauth(&format!("server {}{off}", quoted(name)), value),
                _ => {}
            }
        }
        if before == (self.starts.len(), self.connects.len()) {
            self.add_settings(&format!("servers.{name}"), server);
        }
    }

    /// Adds where the settings of a sign-in lead, and which file they read.
    fn add_oauth(&mut self, whose: &str, oauth: &ConfigNode) {
        // JSON may have a key twice, so all entries are checked.
        for (key, value) in table(oauth) {
            match (key.name.as_str(), &value.content) {
                ("assertion", NodeContent::Text(path)) if Path::new(path).is_absolute() => {
                    self.reads.insert(format!("the file {} ({whose})", quoted(path)));
                }
                ("issuer" | "token_endpoint", NodeContent::Text(url)) => {
                    self.connects.push(format!("{} (sign-in to {whose})", quoted(url)));
                }
                ("idp", _) => self.add_oauth(whose, value),
                _ => {}
            }
        }
    }

    /// Adds the description of an API, and where its requests go.
    fn add_api(&mut self, name: &str, api: &ConfigNode) {
        let before = (self.reads.len(), self.connects.len());
        let name = quoted(name);
        // JSON may have a key twice, so all entries are checked.
        for (key, value) in table(api) {
            match (key.name.as_str(), &value.content) {
                ("openapi", NodeContent::Text(url)) if url.contains("://") => {
                    self.connects.push(format!("{} (API {name})", quoted(url)));
                }
                ("openapi", NodeContent::Text(file)) => {
                    self.reads.insert(format!("the file {} (API {name})", quoted(file)));
                    self.connects.push(format!("what this file names (API {name})"));
                }
                ("base_url", NodeContent::Text(url)) => {
                    self.connects.push(format!("{} (API {name})", quoted(url)));
                }
                ("oauth", _) => self.add_oauth(&format!("API {name}"), value),
                _ => {}
            }
        }
        if before == (self.reads.len(), self.connects.len()) {
            self.add_settings(&format!("apis.{name}"), api);
        }
    }

    /// Adds the key that the environment gives to a model whose settings have none (SPEC ML-10). A provider that a variable
    /// names may be any.
    fn add_key_of(&mut self, model: &ConfigNode) {
        if text(model.get("api_key")).is_some_and(|key| !key.trim().is_empty()) {
            return;
        }
        let code = text(model.get("provider")).unwrap_or_default();
        let may_be = |provider: &&Provider| provider.code() == code || code.contains("${");
        let variables = Provider::ALL.iter().filter(may_be).filter_map(|it| it.info().key_variable);
        self.reads.extend(variables.map(|name| format!("${name}")));
    }

    fn add_settings(&mut self, path: &str, node: &ConfigNode) {
        match &node.content {
            NodeContent::Table(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    self.add_settings(&format!("{path}.{}", key.name), value);
                }
            }
            NodeContent::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.add_settings(&format!("{path}[{index}]"), item);
                }
            }
            NodeContent::Text(text) => {
                self.sets.push(format!("{} = {}", visible(path), quoted(text)))
            }
            NodeContent::Number(number) => self.sets.push(format!("{} = {number}", visible(path))),
            NodeContent::Bool(value) => self.sets.push(format!("{} = {value}", visible(path))),
            NodeContent::Null | NodeContent::Table(_) | NodeContent::List(_) => {
                self.sets.push(visible(path).into_owned());
            }
        }
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads: Vec<_> = self.reads.iter().cloned().collect();
        let kinds = [
            ("start", &self.starts),
            ("read", &reads),
            ("connect", &self.connects),
            ("set", &self.sets),
        ];
        let lines = kinds
            .into_iter()
            .flat_map(|(verb, what)| what.iter().map(move |what| format!("  {verb:<7}  {what}")));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// The variables that are filled in when the config is read.
fn variables(root: &ConfigNode) -> Result<BTreeSet<String>, ConfigProblem> {
    let names = RefCell::new(BTreeSet::new());
    let collect = |asked: &str| {
        let name = asked.strip_prefix("env:").unwrap_or(asked);
        let name = name.split_once(":-").map_or(name, |(name, _)| name);
        names.borrow_mut().insert(format!("${}", visible(name)));
        Ok(None)
    };
    substitute::variables(&mut root.clone(), &collect)?;
    Ok(names.into_inner())
}

/// The folder in which a program runs.
fn folder_of(program: &ConfigNode) -> String {
    text(program.get("cwd")).map_or(String::new(), |cwd| format!(" in {}", quoted(cwd)))
}

/// The command as one would type it in a shell, with the variables that are set for it.
fn command_line(command: &str, program: &ConfigNode) -> String {
    let env = program.get("env").into_iter().flat_map(table).map(|(key, value)| {
        format!("{}={}", visible(&key.name), quoted(text(Some(value)).unwrap_or_default()))
    });
    let args = match program.get("args").map(|args| &args.content) {
        Some(NodeContent::List(items)) => items.as_slice(),
        _ => &[],
    };
    // A tool's arguments may contain nested lists.
    let args = args.iter().flat_map(|item| match &item.content {
        NodeContent::List(inner) => inner.as_slice(),
        _ => std::slice::from_ref(item),
    });
    let args = args.map(|item| quoted(text(Some(item)).unwrap_or_default()));
    env.chain([quoted(command)]).chain(args).collect::<Vec<_>>().join(" ")
}

/// The word as a shell wants it, with every character visible.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    let word = visible(word);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn table(node: &ConfigNode) -> &[(ConfigKey, ConfigNode)] {
    match &node.content {
        NodeContent::Table(entries) => entries,
        _ => &[],
    }
}

fn text(node: Option<&ConfigNode>) -> Option<&str> {
    match &node?.content {
        NodeContent::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(config: &str) -> Effects {
        let parsed = super::super::parse(config, Path::new("switchboard.toml"));
        Effects::of(&parsed.unwrap()).unwrap()
    }

    // PO-3
    #[test]
    fn what_shapes_only_our_own_calls_needs_no_trust() {
        let tool = "[[tools]]\nname = 'a'\ndescription = 'b'\n";
        for harmless in [
            "",
            "[executor]\ntimeout = '5s'\n[policy]\ndeny = ['x']\n[agent]\nstream = false\n",
            &format!("{tool}implementation = {{ type = 'mock', mock_response = '${{X}}' }}"),
            &format!("{tool}implementation = {{ type = 'builtin', handler = 'echo' }}"),
            "[executor]\nseparator = '$${X}'",
        ] {
            assert!(of(harmless).is_empty(), "{harmless}");
        }
    }

    // PO-3
    #[test]
    fn everything_else_is_listed() {
        let config = "
            [policy]
            deny = ['${DENIED:-x}']
            [servers.a]
            command = 'sh'
            args = ['-c', \"echo 'a' \\u001b]0;x\\u202e\"]
            cwd = 'sub folder'
            env = { TOKEN = 'Bearer ${SECRET}' }
            inherit_env = true
            [servers.b]
            url = 'https://b.example/mcp'
            enabled = false
            [models.m]
            provider = 'openai'
            model = 'x'
            base_url = 'https://evil.example/v1'
            [audit]
            keep = 1
            [apis.a]
            openapi = 'a.yaml'
            base_url = 'https://a.example'
            [apis.b]
            openapi = 'https://b.example/openapi.json'
            headers = { X = '${TOKEN}' }
            [apis.c]
            [unheard.of]
            list = [true]
            [[tools]]
            name = 't'
            implementation = { type = 'magic', program = 'rm' }
            [[tools]]
            name = 'log'
            implementation = { type = 'command', program = 'git', args = ['log', ['-n', '{count}']], cwd = '/src', inherit_env = true }
            [[tools]]
            name = 'weather of'
            implementation = { type = 'http', url = 'https://w.example/{city}?k=${KEY}' }";
        let found = of(config);
        let line = r"TOKEN='Bearer ${SECRET}' sh -c 'echo '\''a'\'' \u{1b}]0;x\u{202e}' in 'sub folder' (server a)";
        assert_eq!(found.starts, [line, "git log -n '{count}' in /src (tool log)"]);
        let weather = "'https://w.example/{city}?k=${KEY}' (tool 'weather of')";
        let connects = [
            "https://b.example/mcp (server b, switched off)",
            "what this file names (API a)",
            "https://a.example (API a)",
            "https://b.example/openapi.json (API b)",
            weather,
        ];
        assert_eq!(found.connects, connects);
        let reads: Vec<_> = found.reads.iter().map(String::as_str).collect();
        let expected = [
            "$DENIED",
            "$KEY",
            "$OPENAI_API_KEY",
            "$SECRET",
            "$TOKEN",
            "the file a.yaml (API a)",
            "the whole environment (server a)",
            "the whole environment (tool log)",
        ];
        assert_eq!(reads, expected);
        for set in [
            "models.m.base_url = https://evil.example/v1",
            "audit.keep = 1",
            "apis.c",
            "unheard.of.list[0] = true",
            "tools[0].implementation.program = rm",
        ] {
            assert!(found.sets.iter().any(|found| found == set), "{set}\n{found}");
        }
    }

    // PO-3, ML-10
    #[test]
    fn the_key_of_every_provider_is_listed() {
        let mut all = BTreeSet::new();
        for provider in Provider::ALL {
            let variable = provider.info().key_variable.map(|name| format!("${name}"));
            all.extend(variable.clone());
            let model = format!("[models.m]\nprovider = '{provider}'\nmodel = 'x'\n");
            assert_eq!(of(&model).reads, variable.into_iter().collect());
            assert_eq!(of(&format!("{model}api_key = 'x'\n")).reads, BTreeSet::new());
        }
        let unknown = of("[models.m]\nprovider = '${P}'\nmodel = 'x'\n");
        all.insert("$P".to_owned());
        assert_eq!(unknown.reads, all);
    }

    // PO-3
    #[test]
    fn configs_of_other_programs_are_read_in_the_same_way() {
        let config = r#"{"mcpServers":{"a b":{"command":"npx","args":["x",1],"env":{"K":"${env:KEY}"},"envFile":".env"}}}"#;
        let found = of(config);
        assert_eq!(found.starts, ["K='${env:KEY}' npx x 1 (server a_b)"]);
        let reads: Vec<_> = found.reads.iter().map(String::as_str).collect();
        assert_eq!(reads, ["$KEY", "the file .env"]);
        let twice = r#"{"servers":{"a":{"command":"one","command":"two"}},"executor":{}}"#;
        assert_eq!(of(twice).starts, ["one (server a)", "two (server a)"]);
    }

    // PO-3
    #[test]
    fn many_are_counted() {
        assert_eq!(of("[servers.a]\ncommand = 'a'\n").sum(), "");
        let many: String = (0..30).map(|n| format!("[servers.s{n}]\ncommand = 'a'\n")).collect();
        let said = of(&format!("{many}[audit]\nkeep = '${{X}}'\n")).sum();
        assert_eq!(said, "\nThese are 30 programs, 1 variables, 0 addresses, 1 settings.");
    }

    // PO-3
    #[test]
    fn a_wrong_config_is_told_as_such() {
        let parsed = super::super::parse("[servers.a]\ncommand = '${'", Path::new("c.toml"));
        let problem = Effects::of(&parsed.unwrap()).unwrap_err();
        assert!(problem.to_string().contains("has no `}`"), "{problem}");
    }
}
