//! `server_status`: lists the servers.

use std::sync::Weak;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_toolcall::{Annotations, CallContext, Tool, tool_fn};

use crate::tools::{KnownServer, ToolManager};

/// Lists the tool servers of which the caller sees a tool, and how many tools each one offers now.
#[derive(Deserialize, JsonSchema)]
struct ServerStatusRequest {}

pub(super) fn tool(tools: Weak<ToolManager>) -> impl Tool {
    let status = move |_: ServerStatusRequest, cx: CallContext| {
        let servers: Vec<_> = tools.upgrade().map_or_else(Vec::new, |tools| status(&tools, &cx));
        std::future::ready(json!({ "servers": servers }))
    };
    tool_fn("server_status", status).annotate(Annotations::READ_ONLY)
}

fn status(tools: &ToolManager, cx: &CallContext) -> Vec<Value> {
    let all = tools.all_for(&cx.visibility);
    let seen = |server: &KnownServer| {
        all.iter().filter(|tool| tool.spec().server() == Some(&server.name)).count()
    };
    let servers = tools.servers();
    let counted = servers.iter().map(|server| (server, seen(server)));
    let visible = counted.filter(|(_, seen)| *seen > 0 || !cx.visibility.hides_tools());
    visible.map(|(server, seen)| show(server, seen, cx)).collect()
}

fn show(server: &KnownServer, tools: usize, cx: &CallContext) -> Value {
    let mut shown = Map::new();
    shown.insert("name".to_owned(), json!(&*server.name));
    shown.insert("tools".to_owned(), json!(tools));
    let status = server.link.as_ref().map(|link| link.status());
    if let Some(Value::Object(mut status)) = status {
        // Errors and workers' loads reveal what other callers do, and the machine.
        if !cx.visibility.watches() {
            status.retain(|key, _| key == "state" || key == "type");
        }
        shown.extend(status);
    }
    Value::Object(shown)
}
