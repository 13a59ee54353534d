//! The table `implementation` of a definition.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MockResponse, reading::present};

/// What a call of a defined tool does; which field goes with which type is checked by
/// [`ToolDefinition::check`](super::ToolDefinition::check).
// A tagged enum would say that in types, but serde buffers those and loses the digits of large numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
}

/// Where the answers of a defined tool come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImplementationType {
    /// The definition itself holds the answer.
    Mock,
    /// One of Switchboard's functions.
    Builtin,
    /// A service of the host application.
    Internal,
}
