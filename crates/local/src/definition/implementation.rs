//! The table `implementation` of a definition.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    MockResponse,
    reading::{json_object, json_values, present},
};

/// What a call of a defined tool does; which field goes with which type is checked by
/// [`ToolDefinition::check`](super::ToolDefinition::check).
// A tagged enum would say that in types, but serde buffers those and loses the digits of large numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Implementation {
    /// Where the answer comes from.
    #[serde(rename = "type")]
    pub kind: ImplementationType,
    /// The registered function, for `builtin` and `internal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// The answer, for `mock`; null is an answer too.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub mock_response: Option<Value>,
    /// The answers to certain arguments, for `mock`; `mock_response` answers all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mock_responses: Vec<MockResponse>,
    /// The program, for `command`: a path, or a name that is looked for in `PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its arguments: texts, or lists of texts that are left out together. `{name}` stands for an argument of the call.
    #[serde(default, deserialize_with = "json_values", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Value>,
    /// What the program reads from its stdin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Where the program runs; where Switchboard does, if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the program finds in its environment beside the few variables that every program gets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether the program gets all of our environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_env: Option<bool>,
    /// What the program writes to its stdout; text, if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<CommandOutput>,
    /// The arguments of the call that may begin with `-` where the program could take them for options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dashes: Vec<String>,
    /// The method of the request, for `http`; if unset `GET`, or `POST` if there is a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Where the request goes; `{name}` may stand in path and query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What follows the `?`, by name.
    #[serde(default, deserialize_with = "json_object", skip_serializing_if = "Map::is_empty")]
    pub query: Map<String, Value>,
    /// The headers of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A body in JSON, in which a lone `"{name}"` keeps its type.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// A body as forms send it, by name.
    #[serde(default, deserialize_with = "json_object", skip_serializing_if = "Map::is_empty")]
    pub form: Map<String, Value>,
    /// A body of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Where the answers of a defined tool come from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ImplementationType {
    /// The definition itself holds the answer.
    #[default]
    Mock,
    /// One of Switchboard's functions.
    Builtin,
    /// A service of the host application.
    Internal,
    /// A program of this machine.
    Command,
    /// A request to another program.
    Http,
}

/// What the program of a `command` tool writes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CommandOutput {
    /// Text, which is the result as it is.
    #[default]
    Text,
    /// JSON, whose value is the result.
    Json,
}

impl fmt::Display for ImplementationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mock => "mock",
            Self::Builtin => "builtin",
            Self::Internal => "internal",
            Self::Command => "command",
            Self::Http => "http",
        })
    }
}

/// The types that a key goes with.
struct HandlerUse(&'static [ImplementationType]);

impl Implementation {
    /// Returns the first key that is set and does not go with the type, with the types that it goes with.
    pub(super) fn misplaced(&self) -> Option<(&'static str, String)> {
        use ImplementationType::{Builtin, Command, Http, Internal, Mock};
        let (handled, mock) = (HandlerUse(&[Builtin, Internal]), HandlerUse(&[Mock]));
        let (command, http) = (HandlerUse(&[Command]), HandlerUse(&[Http]));
        let keys = [
            ("handler", self.handler.is_some(), &handled),
            ("mock_response", self.mock_response.is_some(), &mock),
            ("mock_responses", !self.mock_responses.is_empty(), &mock),
            ("program", self.program.is_some(), &command),
            ("args", !self.args.is_empty(), &command),
            ("stdin", self.stdin.is_some(), &command),
            ("cwd", self.cwd.is_some(), &command),
            ("env", !self.env.is_empty(), &command),
            ("inherit_env", self.inherit_env.is_some(), &command),
            ("output", self.output.is_some(), &command),
            ("dashes", !self.dashes.is_empty(), &command),
            ("method", self.method.is_some(), &http),
            ("url", self.url.is_some(), &http),
            ("query", !self.query.is_empty(), &http),
            ("headers", !self.headers.is_empty(), &http),
            ("json", self.json.is_some(), &http),
            ("form", !self.form.is_empty(), &http),
            ("text", self.text.is_some(), &http),
        ];
        let is_misplaced =
            |(_, is_set, uses): &&(_, bool, &HandlerUse)| *is_set && !uses.0.contains(&self.kind);
        let (key, _, uses) = keys.iter().find(is_misplaced)?;
        let uses: Vec<_> = uses.0.iter().map(ToString::to_string).collect();
        Some((key, uses.join(" and ")))
    }
}
