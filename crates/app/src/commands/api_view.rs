//! An API of the config, in the form in which REST shows servers.

use serde_json::{Value, json};
use switchboard_apis::Api;
use switchboard_runtime::{ServerLink, ToolManager};

use super::sign_in_view;

/// Returns what `GET /api/servers` would say of it.
pub(super) async fn of(api: &Api, tools: &ToolManager) -> Value {
    let listed = tools.listed();
    let own = listed.iter().filter(|tool| tool.spec().server() == Some(api.name()));
    let mut shown = api.status();
    shown["kind"] = shown["type"].take();
    shown["name"] = json!(&**api.name());
    shown["tools"] = json!(own.count());
    if let Some(sign_in) = sign_in_view::of_api(api).await {
        shown["sign_in"] = sign_in;
    }
    shown
}
