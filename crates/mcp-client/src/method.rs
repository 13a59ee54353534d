//! What is asked of a server beside its tools, as calls of ours (SPEC GW-6).
//!
//! Each is a hidden tool of its server, so that the executor finds, checks, records and bounds it like any call.

mod content;

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, Normalize, Origin, Strictness, Tool, ToolError,
    ToolOutput, ToolSettings, ToolSpec,
};

use super::{
    config::ServerConfig, request::CallRequest, request_params::RequestParams, server::Server,
};

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

    /// Returns the result as MCP has it, made of what the call answered. `None` if the answer is not one of a server's.
    pub fn result(self, output: &ToolOutput) -> Option<Map<String, Value>> {
        content::result(self, output)
    }

    fn description(self) -> &'static str {
        match self {
            Self::ReadResource => "Reads a resource of the server.",
            Self::Subscribe => "Asks the server to tell when a resource changes.",
            Self::GetPrompt => "Gets a prompt of the server with its arguments filled in.",
            Self::Complete => "Completes an argument of a prompt or of a resource template.",
        }
    }

    fn parameters(self) -> Value {
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

    /// How it is run: as the server's settings say, but the names and types of its arguments are MCP's.
    fn settings(self, config: &ServerConfig) -> ToolSettings {
        let settings = config.tool_settings(self.name());
        ToolSettings {
            strictness: Strictness::Lenient,
            normalize: Normalize::Never,
            // A subscription that was ended in between has to reach the server again.
            cache: settings.cache.filter(|_| self != Self::Subscribe),
            ..settings
        }
    }

    /// The parameter that the modern era repeats in the header `Mcp-Name`.
    fn named(self) -> Option<&'static str> {
        match self {
            Self::ReadResource => Some("uri"),
            Self::GetPrompt => Some("name"),
            Self::Subscribe | Self::Complete => None,
        }
    }
}

/// A method asked of one server.
pub struct RemoteMethod {
    spec: ToolSpec,
    method: Method,
    server: Arc<Server>,
}

impl RemoteMethod {
    /// Makes the hidden tool that asks `method` of `server`.
    pub fn new(method: Method, server: &Arc<Server>, separator: &str) -> Self {
        let name = method.call_name(server.name(), separator);
        let spec = ToolSpec {
            annotations: Annotations::READ_ONLY,
            origin: Origin::Server { server: server.name().clone(), tool: method.name().into() },
            settings: method.settings(server.config()),
            ..ToolSpec::new(name, method.description(), method.parameters())
        };
        Self { spec, method, server: server.clone() }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let Value::Object(params) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let name = self.method.named().and_then(|key| params.get(key)?.as_str());
        let name = name.map(str::to_owned);
        let request = CallRequest {
            method: self.method.name(),
            params: RequestParams::Fields(params),
            headers: || name.iter().map(|name| ("Mcp-Name".to_owned(), name.clone())).collect(),
        };
        let read = |result: &RawValue| content::output(self.method, result);
        self.server.send(&self.spec, &request, cx, read).await
    }

    async fn subscribe(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let uri = args["uri"].as_str().unwrap_or_default();
        self.server.watch(&self.spec, uri, cx).await?;
        Ok(ToolOutput::Value(Value::Object(Map::new())))
    }
}

impl Tool for RemoteMethod {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self.method {
            Method::Subscribe => Box::pin(async move { self.subscribe(&args, cx).await }),
            _ => Box::pin(self.run(args, cx)),
        }
    }
}
