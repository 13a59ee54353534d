//! The definition of a tool.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool's name, description, schema and everything else known before it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that models call.
    pub name: String,
    /// What it does, for models and people.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// The JSON Schema of its structured result, if it declares one.
    pub output_schema: Option<Value>,
    /// What side effects it may have.
    pub annotations: Annotations,
    /// Where it comes from.
    pub origin: ToolOrigin,
    /// How it is run.
    pub settings: ToolSettings,
    /// Other fields of the server's definition (`title`, `icons`, `_meta`, vendor fields), unchanged.
    pub extra: Map<String, Value>,
}

impl ToolSpec {
    /// Creates a local tool with default settings.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            output_schema: None,
            annotations: Annotations::default(),
            origin: ToolOrigin::Local,
            settings: ToolSettings::default(),
            extra: Map::new(),
        }
    }

    /// Returns the server that offers the tool, if there is one.
    pub fn server(&self) -> Option<&Arc<str>> {
        match &self.origin {
            ToolOrigin::Local => None,
            ToolOrigin::Server { server, .. } => Some(server),
        }
    }

    /// Returns whether the tool has no side effects, so that it may be repeated.
    pub fn is_read_only(&self) -> bool {
        self.annotations.read_only == Some(true)
    }
}

/// The side effects that a tool may have; unset means unknown.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct Annotations {
    /// It has no side effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Calling it twice has the same effect as calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It may be destructive.
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
pub enum ToolOrigin {
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

/// How a tool is run; for unset values, the executor's settings apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
    /// The tool's own timeout, or its server's.
    pub timeout: Option<Duration>,
    /// Whether each progress update restarts the timeout.
    pub progress_extends_timeout: bool,
    /// How many characters of its result are shown before it is truncated.
    pub max_output: Option<usize>,
    /// How many calls of it may run at once.
    pub max_concurrent: Option<usize>,
    /// How long a result may be cached.
    pub cache: Option<Duration>,
    /// Whether its result depends on who calls it, so that it is never shared between callers.
    pub per_caller: bool,
    /// Whether its calls can be queued, to outlive their callers.
    pub durable: bool,
    /// Whether a call with the same [`call_key`](crate::CallContext::call_key) has no second effect (SPEC RN-2).
    pub honours_keys: bool,
    /// For how long it remembers such a key, if that is known.
    pub keys_kept: Option<Duration>,
    /// How its arguments are validated.
    pub strictness: Strictness,
    /// How the names of its arguments are changed.
    pub normalize: Normalize,
    /// Argument names that the config maps: the models' name → the server's.
    pub rename: BTreeMap<String, String>,
    /// Arguments that callers do not choose (SPEC TK-4): not in `parameters`, and always sent by the executor.
    pub fixed: BTreeMap<String, FixedArgument>,
    /// Arguments that callers cannot send (SPEC FT-5): not in `parameters`, and dropped by the executor.
    pub hidden: BTreeSet<String>,
}

/// An argument whose value the config fixes.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedArgument {
    /// The value.
    pub value: Value,
    /// Its subschema in the tool's schema; `true` if there is none.
    pub schema: Value,
}

/// How a tool's arguments are validated (SPEC VA-3, VA-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// As the executor's settings say.
    #[default]
    Inherit,
    /// Not at all: the server validates.
    Off,
    /// By the schema, ignoring extra parameters at the top level.
    Lenient,
    /// By the schema exactly.
    Strict,
}

/// How argument names are changed for a server (SPEC AN-2).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Only if the schema has the new name and not the old.
    #[default]
    Auto,
    /// Every name with underscores that is not mapped.
    Always,
    /// Not at all.
    Never,
}
