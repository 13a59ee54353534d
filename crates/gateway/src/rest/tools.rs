//! Which tools there are.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use serde_json::{Map, Value};
use switchboard_runtime::RegisteredTool;

use crate::{Caller, gateway::Parts, refusal::Refusal};

/// `GET /api/tools`: those that the caller may see, in order.
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<Vec<Value>> {
    let tools = parts.executor.tools().all();
    Json(tools.iter().filter(|tool| caller.may_see(tool.name())).map(|tool| shown(tool)).collect())
}

/// `GET /api/tools/{name}`: one of them.
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let tool = parts.executor.tools().lookup(&name).ok();
    let tool = tool.filter(|tool| caller.may_see(tool.name()));
    match tool {
        Some(tool) => Ok(Json(shown(&tool))),
        None => Err(Refusal::NotFound(format!("Tool '{name}' not found"))),
    }
}

fn shown(tool: &RegisteredTool) -> Value {
    let spec = tool.spec();
    let mut shown = Map::new();
    shown.insert("name".to_owned(), (**tool.name()).into());
    shown.insert("description".to_owned(), spec.description.as_str().into());
    shown.insert("parameters".to_owned(), spec.parameters.clone());
    if let Some(server) = spec.server() {
        shown.insert("server".to_owned(), (**server).into());
    }
    let annotations = serde_json::to_value(spec.annotations).unwrap_or_default();
    shown.insert("annotations".to_owned(), annotations);
    if let Some(schema) = &spec.output_schema {
        shown.insert("output_schema".to_owned(), schema.clone());
    }
    Value::Object(shown)
}
