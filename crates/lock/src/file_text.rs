//! A lock file as text: TOML in one canonical form, made to be read in a code review.
//!
//! Long texts stand in their own lines, schemas as indented JSON, and characters that cannot be seen as escapes.

use std::{collections::BTreeMap, fmt::Write};

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_toolcall::text::is_hidden;

use crate::{
    comments::FileComments,
    definition::{DefinitionKind, LockableDefinition, META},
    file::{LockFile, LockedDefinition, LockedServer, TrustStamp},
    identity::Identity,
};

const HEADER: &str = "\
# What the MCP servers of this config say of themselves, as somebody trusted it.
# Written by `switchboard lock` and `switchboard trust`; keep it in git, and read its changes as you read code.
";

/// The fields of a definition that have a key of their own in the file: their names in MCP, and in the file.
const JSON_FIELDS: [(&str, &str); 5] = [
    ("inputSchema", "input"),
    ("outputSchema", "output"),
    ("annotations", "annotations"),
    ("arguments", "arguments"),
    (META, "meta"),
];

/// Why a lock file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LockFileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    version: u32,
    #[serde(default)]
    servers: BTreeMap<String, ServerText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ServerText {
    package: Option<String>,
    integrity: Option<String>,
    program: Option<String>,
    script: Option<String>,
    image: Option<String>,
    url: Option<String>,
    name: Option<String>,
    version: Option<String>,
    instructions: Option<DefinitionText>,
    tools: BTreeMap<String, DefinitionText>,
    prompts: BTreeMap<String, DefinitionText>,
    templates: BTreeMap<String, DefinitionText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionText {
    hash: String,
    trusted: Option<TrustStamp>,
    title: Option<String>,
    description: Option<String>,
    input: Option<String>,
    output: Option<String>,
    annotations: Option<String>,
    arguments: Option<String>,
    meta: Option<String>,
    more: Option<String>,
}

impl LockFile {
    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// It is not TOML, or not a lock file of a version that is known here.
    pub fn parse(text: &str) -> Result<Self, LockFileError> {
        let file: FileText = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            LockFileError { line, problem: error.message().to_owned() }
        })?;
        if file.version != 1 {
            let problem = format!("version {} is not known; this program is too old", file.version);
            return Err(LockFileError { line: 1, problem });
        }
        let servers = file.servers.into_iter().map(|(name, server)| (name, server.read()));
        Ok(Self { servers: servers.collect() })
    }

    /// Returns the text of the file, which is the same for equal contents.
    pub fn to_text(&self) -> String {
        self.to_text_with(&FileComments::default())
    }

    /// Returns the text of the file, with the comments of the text that it replaces.
    pub(crate) fn to_text_after(&self, before: &str) -> String {
        self.to_text_with(&FileComments::of(before, HEADER))
    }

    fn to_text_with(&self, comments: &FileComments) -> String {
        let mut out = format!("{HEADER}{}version = 1\n", comments.above(&[]));
        for (name, server) in &self.servers {
            write_server(&mut out, name, server, comments);
        }
        if !comments.end().is_empty() {
            // Writing to a string cannot fail.
            _ = write!(out, "\n{}", comments.end());
        }
        out
    }
}

impl ServerText {
    fn read(self) -> LockedServer {
        let identity = Identity {
            package: self.package,
            integrity: self.integrity,
            program: self.program,
            script: self.script,
            image: self.image,
            url: self.url,
            name: self.name,
            version: self.version,
        };
        let one = self.instructions.map(|text| ("instructions".to_owned(), text));
        let lists: [(DefinitionKind, Vec<(String, DefinitionText)>); 4] = [
            (DefinitionKind::Tool, self.tools.into_iter().collect()),
            (DefinitionKind::Prompt, self.prompts.into_iter().collect()),
            (DefinitionKind::ResourceTemplate, self.templates.into_iter().collect()),
            (DefinitionKind::Instructions, one.into_iter().collect()),
        ];
        let mut definitions = BTreeMap::new();
        for (kind, list) in lists {
            for (name, text) in list {
                definitions.insert((kind, name.clone()), text.read(kind, name));
            }
        }
        LockedServer { identity, definitions }
    }
}

impl DefinitionText {
    fn read(self, kind: DefinitionKind, name: String) -> LockedDefinition {
        let mut is_readable = true;
        let mut json = |text: Option<String>| {
            let text = text?;
            let value = serde_json::from_str::<Value>(&text);
            is_readable &= value.is_ok();
            value.ok()
        };
        let values = [self.input, self.output, self.annotations, self.arguments, self.meta];
        let values = values.map(&mut json);
        let more = json(self.more);
        let mut entry = Map::new();
        let name_field = kind.name_field();
        entry.insert(name_field.to_owned(), Value::String(name.clone()));
        for (key, text) in [("title", self.title), ("description", self.description)] {
            if let Some(text) = text {
                entry.insert(key.to_owned(), Value::String(text));
            }
        }
        for ((key, _), value) in JSON_FIELDS.iter().zip(values) {
            if let Some(value) = value {
                entry.insert((*key).to_owned(), value);
            }
        }
        if let Some(Value::Object(more)) = more {
            entry.extend(more.into_iter().filter(|(key, _)| key != name_field));
        }
        let definition = LockableDefinition { kind, name, entry };
        let is_sound = is_readable && definition.hash() == self.hash;
        LockedDefinition { hash: self.hash, trusted: self.trusted, definition, is_sound }
    }
}

fn write_server(out: &mut String, name: &str, server: &LockedServer, comments: &FileComments) {
    let above = comments.above(&["servers", name]);
    let table = key(name);
    // Writing to a string cannot fail.
    _ = write!(out, "\n{above}[servers.{table}]\n");
    for (field, value) in server.identity.fields() {
        if let Some(value) = value {
            _ = writeln!(out, "{field} = {}", text(value));
        }
    }
    for ((kind, own), locked) in &server.definitions {
        let list = match kind {
            DefinitionKind::Tool => "tools",
            DefinitionKind::Prompt => "prompts",
            DefinitionKind::ResourceTemplate => "templates",
            DefinitionKind::Instructions => "instructions",
        };
        let (above, own) = match kind {
            DefinitionKind::Instructions => {
                (comments.above(&["servers", name, list]), String::new())
            }
            _ => (comments.above(&["servers", name, list, own]), format!(".{}", key(own))),
        };
        _ = write!(out, "\n{above}[servers.{table}.{list}{own}]\n");
        write_definition(out, locked);
    }
}

fn write_definition(out: &mut String, locked: &LockedDefinition) {
    _ = writeln!(out, "hash = {}", text(&locked.hash));
    if let Some(TrustStamp { by, at }) = &locked.trusted {
        _ = writeln!(out, "trusted = {{ by = {}, at = {} }}", text(by), text(at));
    }
    let mut fields = locked.definition.canonical();
    for key in ["title", "description"] {
        if let Some(Value::String(value)) = fields.get(key) {
            _ = writeln!(out, "{key} = {}", text(value));
            fields.shift_remove(key);
        }
    }
    for (field, key) in JSON_FIELDS {
        if let Some(value) = fields.shift_remove(field) {
            _ = writeln!(out, "{key} = {}", json(&value));
        }
    }
    if !fields.is_empty() {
        _ = writeln!(out, "more = {}", json(&Value::Object(fields)));
    }
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => text_on_one_line(name),
    }
}

/// Returns a TOML string; a text of several lines stands in its own lines.
fn text(value: &str) -> String {
    if !value.contains('\n') {
        return text_on_one_line(value);
    }
    let mut out = String::from("\"\"\"\n");
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '"' if matches!(rest.peek(), Some('"') | None) => out.push_str("\\\""),
            '"' => out.push('"'),
            other => push_escaped(&mut out, other),
        }
    }
    out.push_str("\"\"\"");
    out
}

fn text_on_one_line(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            other => push_escaped(&mut out, other),
        }
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if is_hidden(c) && u32::from(c) <= 0xFFFF => _ = write!(out, "\\u{:04X}", u32::from(c)),
        c if is_hidden(c) => _ = write!(out, "\\U{:08X}", u32::from(c)),
        c => out.push(c),
    }
}

/// Returns a TOML string with indented JSON; a short value stays on its line.
fn json(value: &Value) -> String {
    let short = value.to_string();
    let plain = match short.len() <= 80 {
        true => short,
        false => format!("\n{}\n", serde_json::to_string_pretty(value).unwrap_or(short)),
    };
    let mut out = String::with_capacity(plain.len());
    let has_quotes = plain.contains("''") || plain.ends_with('\'');
    for c in plain.chars() {
        match c {
            '\'' if has_quotes => out.push_str("\\u0027"),
            c if is_hidden(c) && c != '\n' => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    match out.contains('\n') || out.contains('\'') {
        true => format!("'''{out}'''"),
        false => format!("'{out}'"),
    }
}
