//! `/openapi.json`: every route, and every tool that the caller may see as a separate operation.
//!
//! The routes are documented where they are served; this module combines them.

mod schema;
mod tools;
pub(crate) mod responses;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use axum::{Extension, extract::State};
use serde_json::{Value, json};
use switchboard_access::Caller;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        RefOr, Required,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

use crate::{gateway::Parts, json_body::Json, openai, rest};
use responses::RejectedResponse;

/// The documented routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Switchboard",
        description = "One safe, fast executor for the tools that AI models call. Every tool is an operation of its own."
    ),
    paths(
        rest::tools::list,
        rest::tools::costs,
        rest::tools::show,
        rest::tools::validate,
        rest::call::call,
        rest::call::cancel,
        rest::calls::list,
        rest::calls::show,
        rest::queued::cancel,
        rest::turns::list,
        rest::runs::list,
        rest::runs::show,
        rest::approvals::list,
        rest::approvals::decide,
        rest::approvals::rules,
        rest::approvals::forget,
        rest::policy::show,
        rest::policy::test,
        rest::policy::decisions,
        rest::tokens::list,
        rest::tokens::create,
        rest::tokens::tools,
        rest::tokens::revoke,
        rest::chats::list,
        rest::chats::show,
        rest::chats::remove,
        rest::questions::list,
        rest::questions::answer,
        rest::events::stream,
        rest::artifacts::show,
        rest::stats::show,
        rest::servers::list,
        rest::servers::show,
        rest::servers::resources,
        rest::servers::prompts,
        rest::servers::follow,
        rest::servers::reconnect,
        rest::servers::stop,
        rest::servers::start,
        rest::servers::sign_in,
        rest::servers::sign_out,
        rest::servers::add,
        rest::servers::remove,
        rest::servers::trust,
        rest::servers::enable,
        rest::servers::disable,
        rest::about::show,
        rest::session::show,
        rest::session::sign_in,
        rest::session::sign_out,
        rest::health,
        rest::ready,
        rest::metrics,
        document,
        openai::complete,
        openai::list,
        openai::show,
    ),
    components(schemas(
        responses::Success,
        rest::queued::QueuedReceipt,
        crate::openai::CompletionChunk
    )),
    modifiers(&Bearer, &NoBody),
    security((), ("bearer" = [])),
    tags(
        (name = "tools", description = "Tools, and calls of them"),
        (name = "approvals", description = "Calls that wait for a person, and a person's word about them"),
        (name = "chat", description = "Chat completions as OpenAI's clients speak them, with tools run here"),
        (name = "watch", description = "What happens, and how we are"),
        (name = "servers", description = "The MCP servers behind us"),
        (name = "access", description = "Who may call what: tokens and rules"),
        (name = "console", description = "What the console at `/` needs beside these"),
    )
)]
struct Document;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some(
            "A token of `switchboard token new`; on loopback none is needed by default".to_owned(),
        );
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// Marks bodies that may be missing; utoipa would say that they may be `null`.
struct NoBody;

impl Modify for NoBody {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for path in ["/api/tools/{name}/call", "/api/tools/{name}/validate", "/api/policy/test"] {
            let route = document.paths.paths.get_mut(path).and_then(|route| route.post.as_mut());
            let body = route.and_then(|route| route.request_body.as_mut());
            if let Some(RefOr::T(body)) = body {
                body.required = Some(Required::False);
            }
        }
    }
}

/// The routes, which are the same for everybody.
static ROUTES: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(Document::openapi()).unwrap_or_default());

/// This document: with the tools that the caller may see.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi", tag = "watch",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Object), RejectedResponse)
)]
pub(crate) async fn document(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<Value> {
    let mut document = ROUTES.clone();
    let models: Vec<Cow<'_, str>> = parts.models.names().into_iter().map(Into::into).collect();
    if !models.is_empty()
        && let Some(model) =
            document.pointer_mut("/components/schemas/ChatRequest/properties/model")
    {
        model["enum"] = json!(models);
    }
    let all = parts.executor.tools().listed_for(caller.visibility());
    tools::add(&mut document, &all);
    Json(document)
}
