//! Methods of a server other than `tools/call`, as calls of ours (SPEC GW-6).
//!
//! Each is a hidden tool of its server, so that the executor looks up, validates, records and bounds it like any call.

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};
use switchboard_mcp_wire::Method;
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, Normalize, Strictness, Tool, ToolError, ToolOrigin,
    ToolOutput, ToolSettings, ToolSpec,
};

use super::{
    config::ServerConfig, request::CallRequest, request_params::OutgoingParams, server::Server,
};

/// A method of one server.
pub struct RemoteMethod {
    spec: ToolSpec,
    method: Method,
    server: Arc<Server>,
}

impl RemoteMethod {
    /// Creates the hidden tool that calls `method` of `server`.
    pub fn new(method: Method, server: &Arc<Server>, separator: &str) -> Self {
        let name = method.call_name(server.name(), separator);
        let spec = ToolSpec {
            annotations: Annotations::READ_ONLY,
            origin: ToolOrigin::Server {
                server: server.name().clone(),
                tool: method.name().into(),
            },
            settings: settings(method, server.config()),
            ..ToolSpec::new(name, method.description(), method.parameters())
        };
        Self { spec, method, server: server.clone() }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        self.server.check_lock(self.method, &args)?;
        let Value::Object(params) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let name = self.method.named().and_then(|key| params.get(key)?.as_str());
        let name = name.map(str::to_owned);
        let request = CallRequest {
            method: self.method.name(),
            params: OutgoingParams::Fields(params),
            headers: || name.iter().map(|name| ("Mcp-Name".to_owned(), name.clone())).collect(),
        };
        let read = |result: &RawValue| self.method.output(result);
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

/// Returns the settings with which a method runs: the server's, but its arguments are MCP's and are not renamed.
fn settings(method: Method, config: &ServerConfig) -> ToolSettings {
    let settings = config.tool_settings(method.name());
    ToolSettings {
        strictness: Strictness::Lenient,
        normalize: Normalize::Never,
        // After an unsubscribe, the same subscription has to reach the server again.
        cache: settings.cache.filter(|_| method != Method::Subscribe),
        ..settings
    }
}
