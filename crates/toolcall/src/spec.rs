//! What is known of a tool before it is called.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool's name, description, schema and everything else that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that models call.
    pub name: String,
    /// What it does, for models and people.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// The JSON Schema of its structured result, where it declares one.
    pub output_schema: Option<Value>,
    /// What it may do to the world.
    pub annotations: Annotations,
    /// Where it comes from.
    pub origin: Origin,
    /// How it is run.
    pub settings: ToolSettings,
    /// What else its server says of it (`title`, `icons`, `_meta`, vendor fields), kept as it came.
    pub extra: Map<String, Value>,
}

impl ToolSpec {
    /// A local tool with default settings.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            output_schema: None,
            annotations: Annotations::default(),
            origin: Origin::Local,
            settings: ToolSettings::default(),
            extra: Map::new(),
        }
    }

    /// The server that offers the tool, where one does.
    pub fn server(&self) -> Option<&Arc<str>> {
        match &self.origin {
            Origin::Local => None,
            Origin::Server { server, .. } => Some(server),
        }
    }

    /// Whether calling it twice, or in vain, changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.read_only == Some(true)
    }
}

/// What a tool says it may do to the world; unset means that it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Annotations {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Calling it twice is as calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// It reaches beyond this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl Annotations {
    /// A tool that only reads.
    pub const READ_ONLY: Self = Self {
        read_only: Some(true),
        idempotent: Some(true),
        destructive: Some(false),
        open_world: None,
    };
}

/// Where a tool comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// This process.
    #[default]
    Local,
    /// An MCP server.
    Server {
        /// The server's name in the config.
        server: Arc<str>,
        /// The tool's name at the server.
        tool: Arc<str>,
    },
}

/// How a tool is run; unset values come from the executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
    /// The tool's own time limit, or its server's.
    pub timeout: Option<Duration>,
    /// Whether each report of progress gives it its time anew.
    pub progress_extends_timeout: bool,
    /// How many characters of its result are shown.
    pub max_output: Option<usize>,
    /// How many calls of it may run at once.
    pub max_concurrent: Option<usize>,
    /// How long an answer may be given again without running it.
    pub cache: Option<Duration>,
    /// Whether its calls can be queued, to outlive who asks.
    pub durable: bool,
    /// What is checked before it runs.
    pub strictness: Strictness,
    /// How the names of its arguments are fixed.
    pub normalize: Normalize,
    /// Argument names that the config maps: what models say → what the server expects.
    pub rename: BTreeMap<String, String>,
    /// Arguments that callers do not choose (SPEC TK-4): they are not in `parameters`, and the executor always sends them.
    pub fixed: BTreeMap<String, FixedArgument>,
}

/// An argument whose value the config fixes.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedArgument {
    /// What is sent.
    pub value: Value,
    /// What the tool's own schema says of it; `true` if nothing.
    pub schema: Value,
}

/// What is checked of a tool's arguments before it runs (SPEC VA-3, VA-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// As the executor is set.
    #[default]
    Inherit,
    /// Nothing: the server judges.
    Off,
    /// The schema, extra parameters at the top level aside.
    Lenient,
    /// The schema to the letter.
    Strict,
}

/// How a server's argument names are fixed (SPEC AN-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Only where the schema knows the new name and not the old.
    #[default]
    Auto,
    /// Every name with underscores that no map knows.
    Always,
    /// Not at all.
    Never,
}
