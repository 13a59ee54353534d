//! The texts that the screen is measured with: `tests/corpus`, and the tools of `crates/search/recall`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use switchboard_lock::{DefinitionKind, Finding, LockableDefinition, Screen, Suspicion, screen};

/// An attack of a file of `tests/corpus`.
pub(crate) struct Attack {
    /// Where in a definition the text stands.
    place: String,
    text: String,
}

/// A definition of a real server.
pub(crate) struct RealTool {
    pub(crate) server: String,
    pub(crate) definition: LockableDefinition,
}

/// A file of `tests/corpus`.
pub(crate) fn own_attacks(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(file)
}

/// The tools of a set of `crates/search/recall`.
pub(crate) fn own_tools(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../search/recall").join(set).join("tools.jsonl")
}

/// Reads the attacks of a file.
pub(crate) fn attacks(file: &Path) -> Vec<Attack> {
    let lines = read(file);
    let lines = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let attack = |line: &str| {
        let fields: Vec<_> = line.splitn(3, '\t').collect();
        let [_style, place, text] = fields[..] else { panic!("not three fields: {line}") };
        Attack { place: place.to_owned(), text: unescaped(text) }
    };
    lines.map(attack).collect()
}

/// Reads the tools of a file, as the sets of `crates/search/recall` have them.
pub(crate) fn real_tools(file: &Path) -> Vec<RealTool> {
    let lines = read(file);
    let tool = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).expect("each line is JSON");
        let object = entry.as_object_mut().expect("each line is an object");
        let server = object.shift_remove("server").and_then(|name| Some(name.as_str()?.to_owned()));
        if let Some(parameters) = object.shift_remove("parameters") {
            object.insert("inputSchema".to_owned(), parameters);
        }
        let definition =
            LockableDefinition::new(DefinitionKind::Tool, &entry).expect("each has a name");
        RealTool { server: server.expect("each has a server"), definition }
    };
    lines.lines().map(tool).collect()
}

impl Attack {
    /// What the screen finds in a definition that is harmless apart from the text.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let (kind, entry) = self.entry();
        let definition = match kind {
            DefinitionKind::Instructions => LockableDefinition::instructions(&self.text),
            kind => LockableDefinition::new(kind, &entry).expect("it has a name"),
        };
        screen("weather", &definition)
    }

    /// The text and its place, for people.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.place, self.text)
    }

    fn entry(&self) -> (DefinitionKind, Value) {
        let text = &self.text;
        let mut tool = json!({
            "name": "get_weather",
            "description": "Returns the weather of a city.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city"},
                    "unit": {"type": "string", "enum": ["c", "f"]},
                },
                "required": ["city"],
            },
        });
        match self.place.as_str() {
            "description" => {
                tool["description"] = json!(format!("Returns the weather of a city. {text}"));
            }
            "name" | "title" => tool[&self.place] = json!(text),
            "parameter-name" => {
                tool["inputSchema"]["properties"][text] = json!({"type": "string"});
            }
            "enum" => {
                tool["inputSchema"]["properties"]["unit"]["enum"] = json!(["c", "f", text]);
            }
            "default" => tool["inputSchema"]["properties"]["city"]["default"] = json!(text),
            "output" => {
                let field = json!({"type": "string", "description": text});
                tool["outputSchema"] = json!({"type": "object", "properties": {"retry": field}});
            }
            "prompt" => {
                return (DefinitionKind::Prompt, json!({"name": "help", "description": text}));
            }
            "template" => {
                let template = json!({"uriTemplate": text, "name": "page"});
                return (DefinitionKind::ResourceTemplate, template);
            }
            "instructions" => return (DefinitionKind::Instructions, Value::Null),
            place => {
                let name = place.strip_prefix("parameter:").expect("a place that is known");
                let parameter = json!({"type": "string", "description": text});
                tool["inputSchema"]["properties"][name] = parameter;
            }
        }
        (DefinitionKind::Tool, tool)
    }
}

/// How many of the tools the screen warns about.
pub(crate) struct Alarms {
    /// Because of what they say.
    pub(crate) texts: usize,
    /// Because another server has a tool of the same name, or speaks of it, if all servers are in one config.
    pub(crate) names: usize,
    /// Because of either.
    pub(crate) any: usize,
    /// All findings.
    pub(crate) lines: Vec<String>,
}

impl Alarms {
    pub(crate) fn of(tools: &[RealTool]) -> Self {
        let names = tools.iter().map(|tool| (tool.server.as_str(), tool.definition.name.as_str()));
        let screen = Screen::new(names);
        let mut alarms = Self { texts: 0, names: 0, any: 0, lines: Vec::new() };
        for tool in tools {
            let found = screen.findings(&tool.server, &tool.definition);
            let is_name = |finding: &Finding| finding.suspicion == Suspicion::Shadow;
            alarms.any += usize::from(!found.is_empty());
            alarms.names += usize::from(found.iter().any(is_name));
            alarms.texts += usize::from(!found.iter().all(is_name));
            alarms.lines.extend(found.iter().map(|finding| finding.line(&tool.server, "__")));
        }
        alarms
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a text with `\n` as a newline and `\u{…}` as a character.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        rest = if let Some(after) = after.strip_prefix('n') {
            out.push('\n');
            after
        } else if let Some((code, after)) =
            after.strip_prefix("u{").and_then(|code| code.split_once('}'))
        {
            let code = u32::from_str_radix(code, 16).expect("a hexadecimal number");
            out.push(char::from_u32(code).expect("a character"));
            after
        } else {
            out.push('\\');
            after
        };
    }
    out + rest
}
