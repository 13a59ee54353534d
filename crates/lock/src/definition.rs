//! A definition: one thing that a server says of itself, and that models or clients read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical;

/// What a definition describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A tool, an entry of `tools/list`.
    Tool,
    /// A prompt, an entry of `prompts/list`.
    Prompt,
    /// A resource template, an entry of `resources/templates/list`.
    ResourceTemplate,
    /// The server's `instructions` for models.
    Instructions,
}

impl DefinitionKind {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::Tool, Self::Prompt, Self::ResourceTemplate, Self::Instructions];

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::ResourceTemplate => "resource_template",
            Self::Instructions => "instructions",
        }
    }

    /// What people call it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::ResourceTemplate => "resource template",
            Self::Instructions => "instructions",
        }
    }

    /// The field of an entry that names it.
    pub(crate) fn name_field(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt | Self::Instructions => "name",
            Self::ResourceTemplate => "uriTemplate",
        }
    }
}

/// The name of [`DefinitionKind::Instructions`].
const INSTRUCTIONS: &str = "instructions";

/// The field of an entry that is for programs.
pub(crate) const META: &str = "_meta";

/// One definition, as the server gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct LockableDefinition {
    /// What it describes.
    pub kind: DefinitionKind,
    /// Its name; of a resource template its `uriTemplate`.
    pub name: String,
    /// The entry of the server's list.
    pub entry: Map<String, Value>,
}

impl LockableDefinition {
    /// Creates a definition from an entry of a list; `None` if the entry has no name.
    pub fn new(kind: DefinitionKind, entry: &Value) -> Option<Self> {
        let entry = entry.as_object()?;
        let name = entry.get(kind.name_field())?.as_str()?.to_owned();
        Some(Self { kind, name, entry: entry.clone() })
    }

    /// Creates the definition of a server's `instructions`.
    pub fn instructions(text: &str) -> Self {
        let entry = [("name", INSTRUCTIONS), ("description", text)]
            .map(|(key, value)| (key.to_owned(), Value::String(value.to_owned())));
        let entry = Map::from_iter(entry);
        Self { kind: DefinitionKind::Instructions, name: INSTRUCTIONS.to_owned(), entry }
    }

    /// Returns the hash of what it says.
    pub fn hash(&self) -> String {
        canonical::hash(&canonical::of_entry(&self.entry, None))
    }

    /// Returns the hash of what it says apart from its name, by which a renamed twin is found.
    pub(crate) fn body_hash(&self) -> String {
        canonical::hash(&canonical::of_entry(&self.entry, Some(self.kind.name_field())))
    }

    /// Returns what counts of it, in canonical order, and after that its `_meta`.
    pub(crate) fn canonical(&self) -> Map<String, Value> {
        let bytes = canonical::of_entry(&self.entry, Some(self.kind.name_field()));
        let mut fields: Map<_, _> = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(meta) = self.meta() {
            fields.insert(META.to_owned(), canonical::sorted(meta));
        }
        fields
    }

    /// Returns its `_meta`, which programs read; `None` if that says nothing.
    pub(crate) fn meta(&self) -> Option<&Value> {
        let is_empty = |meta: &Value| meta.as_object().is_none_or(Map::is_empty);
        self.entry.get(META).filter(|meta| !is_empty(meta))
    }

    /// Returns whether another one says the same: by its hash, and in its `_meta`.
    pub fn is_same(&self, other: &Self) -> bool {
        self.meta() == other.meta() && self.hash() == other.hash()
    }

    /// Returns its description, or the text of instructions.
    pub fn description(&self) -> &str {
        self.entry.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether `name` means it: its own name, or the `name` of a resource template.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.entry.get("name").and_then(Value::as_str) == Some(name)
    }
}

/// Returns the name of an entry and the hash of what it says; `None` if it has no name.
pub(crate) fn name_and_hash(kind: DefinitionKind, entry: &Value) -> Option<(&str, String)> {
    let entry = entry.as_object()?;
    let name = entry.get(kind.name_field())?.as_str()?;
    Some((name, canonical::hash(&canonical::of_entry(entry, None))))
}
