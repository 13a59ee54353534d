//! A server's tool as a `Tool`.

use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_mcp_wire::headers::{self, ParameterHeader};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, Tool, ToolError, ToolOrigin, ToolOutput, ToolSpec,
};

use super::{
    config::{AnnotationTrust, ServerConfig, TransportKind},
    request::CallRequest,
    request_params::OutgoingParams,
    server::Server,
    tool_result::output,
};

/// A tool of a server.
pub struct RemoteTool {
    spec: ToolSpec,
    /// Its name at the server.
    name: Arc<str>,
    headers: Vec<ParameterHeader>,
    server: Arc<Server>,
}

impl RemoteTool {
    /// Creates a tool from an entry of `tools/list`.
    ///
    /// # Errors
    /// Fails if the entry has no name or no schema, or asks for invalid headers.
    pub fn new(entry: Value, server: &Arc<Server>, separator: &str) -> Result<Self, String> {
        let Value::Object(mut entry) = entry else {
            return Err("an entry that is not an object".to_owned());
        };
        let Some(Value::String(name)) = entry.remove("name") else {
            return Err("a tool without a name".to_owned());
        };
        let parameters =
            entry.remove("inputSchema").ok_or_else(|| format!("'{name}' has no inputSchema"))?;
        let headers = match server.kind() {
            TransportKind::Stdio => Vec::new(),
            TransportKind::Http | TransportKind::Sse => {
                headers::of_schema(&parameters).map_err(|problem| format!("'{name}': {problem}"))?
            }
        };
        let spec = spec(&name, parameters, entry, server.name(), server.config(), separator);
        Ok(Self { spec, name: name.into(), headers, server: server.clone() })
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let request = CallRequest {
            method: "tools/call",
            params: OutgoingParams::Call { name: &self.name, arguments: &args },
            headers: || headers::of_call(&self.name, &self.headers, &args),
        };
        self.server.send(&self.spec, &request, cx, output).await
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(args, cx))
    }
}

fn spec(
    name: &str,
    parameters: Value,
    mut entry: Map<String, Value>,
    server: &Arc<str>,
    config: &ServerConfig,
    separator: &str,
) -> ToolSpec {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let annotations = match config.annotations {
        AnnotationTrust::Trust => entry.get("annotations").cloned().unwrap_or_default(),
        AnnotationTrust::Ignore => Value::Null,
    };
    let hint = |key: &str| annotations[key].as_bool();
    ToolSpec {
        name: format!("{server}{separator}{name}"),
        description: text(entry.remove("description")),
        parameters,
        output_schema: entry.remove("outputSchema"),
        annotations: Annotations {
            read_only: hint("readOnlyHint"),
            idempotent: hint("idempotentHint"),
            destructive: hint("destructiveHint"),
            open_world: hint("openWorldHint"),
        },
        origin: ToolOrigin::Server { server: server.clone(), tool: name.into() },
        settings: config.tool_settings(name),
        extra: entry,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotations(annotations: AnnotationTrust) -> Annotations {
        let entry = json!({"annotations": {"readOnlyHint": true, "destructiveHint": false}});
        let config = ServerConfig { annotations, ..ServerConfig::default() };
        let entry = entry.as_object().cloned().unwrap_or_default();
        spec("wipe", json!({"type": "object"}), entry, &"sh".into(), &config, "__").annotations
    }

    #[test]
    fn a_server_need_not_be_believed() {
        assert_eq!(annotations(AnnotationTrust::Trust).read_only, Some(true));
        assert_eq!(annotations(AnnotationTrust::Ignore), Annotations::default());
    }
}
