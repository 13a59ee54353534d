//! `server_status`: which servers there are.

use std::sync::Weak;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, Tool, tool_fn};

use crate::tools::{KnownServer, ToolManager};

/// Lists the tool servers and how many tools each one offers now.
#[derive(Deserialize, JsonSchema)]
struct ServerStatus {}

pub(super) fn tool(tools: Weak<ToolManager>) -> impl Tool {
    let status = move |_: ServerStatus, _cx: CallContext| {
        let servers = tools.upgrade().map(|tools| tools.servers()).unwrap_or_default();
        let servers: Vec<Value> = servers.iter().map(show).collect();
        std::future::ready(json!({ "servers": servers }))
    };
    tool_fn("server_status", status).annotate(Annotations::READ_ONLY)
}

fn show(server: &KnownServer) -> Value {
    let status = server.link.as_ref().map(|link| link.status());
    let mut shown = json!({"name": &*server.name, "tools": server.tools});
    if let (Some(shown), Some(Value::Object(status))) = (shown.as_object_mut(), status) {
        shown.extend(status);
    }
    shown
}
