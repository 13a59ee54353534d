//! The MCP methods of servers besides `tools/call` (SPEC GW-6).

mod content;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::{ToolError, ToolOutput};

/// A method of MCP, other than `tools/call`, that clients ask of servers through us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `resources/read`
    ReadResource,
    /// `resources/subscribe`
    Subscribe,
    /// `prompts/get`
    GetPrompt,
    /// `completion/complete`
    Complete,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ReadResource, Self::Subscribe, Self::GetPrompt, Self::Complete];

    /// Its name in MCP.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }

    /// The name of the call that asks it of `server`.
    pub fn call_name(self, server: &str, separator: &str) -> String {
        format!("{server}{separator}{}", self.name())
    }

    /// Makes content parts of a server's result.
    ///
    /// # Errors
    /// The result is not an object.
    pub fn output(self, result: &RawValue) -> Result<ToolOutput, ToolError> {
        content::output(self, result)
    }

    /// Returns the result that [`output`](Self::output) was made of. Returns `None` if it was made of none.
    pub fn result(self, output: &ToolOutput) -> Option<Map<String, Value>> {
        content::result(self, output)
    }

    /// Returns its description, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::ReadResource => "Reads a resource of the server.",
            Self::Subscribe => "Asks the server to tell when a resource changes.",
            Self::GetPrompt => "Gets a prompt of the server with its arguments filled in.",
            Self::Complete => "Completes an argument of a prompt or of a resource template.",
        }
    }

    /// The JSON Schema of its parameters.
    pub fn parameters(self) -> Value {
        let (properties, required) = match self {
            Self::ReadResource | Self::Subscribe => {
                (json!({"uri": {"type": "string"}}), json!(["uri"]))
            }
            Self::GetPrompt => (
                json!({"name": {"type": "string"}, "arguments": {"type": "object"}}),
                json!(["name"]),
            ),
            Self::Complete => (
                json!({
                    "ref": {"type": "object"},
                    "argument": {"type": "object"},
                    "context": {"type": "object"},
                }),
                json!(["ref", "argument"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required})
    }

    /// The parameter that the modern era repeats in the header `Mcp-Name`.
    pub fn named(self) -> Option<&'static str> {
        match self {
            Self::ReadResource => Some("uri"),
            Self::GetPrompt => Some("name"),
            Self::Subscribe | Self::Complete => None,
        }
    }
}
