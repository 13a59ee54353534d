//! What a server says that is not in the lock, and trusting it (SPEC LK-2).

use std::{sync::Arc, time::SystemTime};

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_access::Caller;
use switchboard_mcp_client::{
    Server,
    lock::{ChangeKind, DefinitionKind, LockTrustError, PendingDefinition, TrustStamp},
};
use switchboard_toolcall::{ErrorKind, Principal, ToolCall, ToolError, ToolOutput, text::one_line};
use utoipa::ToSchema;

use super::{find, sees_errors};
use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// The name under which the journal has that somebody trusted definitions.
const TRUST: &str = "switchboard/trust";

/// A definition that is not in `switchboard.lock`, or differs from it.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownPending {
    /// `tool`, `prompt`, `resource_template` or `instructions`.
    kind: &'static str,
    /// Its name; of a resource template its `uriTemplate`.
    name: String,
    /// The `name` of a resource template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// The hash of what it says, by which it is trusted.
    hash: String,
    /// `new`, `renamed`, `changed`, or `unsound` if the lock file contradicts itself.
    change: &'static str,
    /// The name in the lock of what was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    from: Option<String>,
    /// The same in words, as the rest of a sentence that begins with its name.
    says: String,
    /// What matters most about it.
    notes: Vec<String>,
    /// What differs, field by field, as `git diff --word-diff` writes it.
    diff: Vec<String>,
    /// What looks as if it was meant to deceive, each as a line.
    findings: Vec<String>,
}

/// What is to be trusted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustRequest {
    /// The hashes of definitions that wait, as `waiting` of the server has them.
    hashes: Vec<String>,
}

/// What was trusted.
#[derive(Serialize, ToSchema)]
pub(crate) struct TrustedDefinitions {
    server: String,
    /// The names of the definitions.
    trusted: Vec<String>,
}

/// Returns what waits of a server and the caller may know of.
pub(super) fn visible_pending(server: &Server, caller: &Caller) -> Vec<ShownPending> {
    if !sees_errors(caller) && !caller.may_approve {
        return Vec::new();
    }
    visible(server, caller).into_iter().map(|pending| ShownPending::of(server, pending)).collect()
}

/// Returns what waits, without the tools that do not exist for the caller.
fn visible(server: &Server, caller: &Caller) -> Vec<PendingDefinition> {
    // In a profile tools have other names, and what is outside it is not there.
    if caller.visibility().profile().is_some() {
        return Vec::new();
    }
    let separator = server.gate().locks().separator().to_owned();
    let mut pending = server.pending_definitions();
    pending.retain(|one| {
        let name = format!("{}{separator}{}", server.name(), one.definition.name);
        one.definition.kind != DefinitionKind::Tool || caller.visibility().sees_name(&name)
    });
    pending
}

impl ShownPending {
    fn of(server: &Server, pending: PendingDefinition) -> Self {
        let PendingDefinition { definition, hash, change, findings } = pending;
        let separator = server.gate().locks().separator();
        let lines = findings.iter().map(|one| one_line(&one.line(server.name(), separator)));
        let title = definition.entry.get("name").and_then(Value::as_str);
        Self {
            kind: definition.kind.name(),
            title: title.filter(|title| *title != definition.name).map(str::to_owned),
            hash,
            change: change.change.name(),
            says: change.change.text(),
            // Characters that cannot be seen are escaped.
            diff: change.fields.iter().map(|field| one_line(&field.text())).collect(),
            findings: lines.collect(),
            notes: change.notes,
            from: match change.change {
                ChangeKind::Renamed { from } => Some(from),
                _ => None,
            },
            name: definition.name,
        }
    }
}

/// Takes definitions that wait into `switchboard.lock`, so that they are offered. For the user of this machine, and for tokens
/// with the approve right.
#[utoipa::path(
    post, path = "/api/servers/{name}/trust", operation_id = "trust_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    request_body = TrustRequest,
    responses(
        (status = 200, description = "They are in the lock", body = TrustedDefinitions),
        (status = 400, description = "The body is wrong", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "There is no lock, or nothing of that waits as it was shown", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        (status = 503, description = "The lock cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn trust(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<TrustedDefinitions>, ApiError> {
    let server = find(&parts, &caller, name)?;
    if !caller.may_approve {
        let text = "this token may not trust what servers say; `switchboard token new --approve` makes one that may";
        return Err(ApiError::Forbidden(text.to_owned()));
    }
    let wrong = |error| {
        ApiError::BadRequest(format!(
            "the body must be like {{\"hashes\": [\"sha256:…\"]}}: {error}"
        ))
    };
    let wanted: TrustRequest = serde_json::from_slice(&body?).map_err(wrong)?;
    let mut pending = visible(&server, &caller);
    pending.retain(|one| wanted.hashes.contains(&one.hash));
    let hashes: Vec<_> = pending.iter().map(|one| one.hash.clone()).collect();
    let names: Vec<_> = pending.iter().map(|one| one.definition.name.clone()).collect();
    let by = who(&server, &caller);
    let args =
        json!({"server": &**server.name(), "definitions": names, "hashes": hashes, "by": by});
    let action = ToolCall::new(TRUST, args.as_object().cloned().unwrap_or_default());
    let trusted = TrustStamp { by, at: timestamp(SystemTime::now()) };
    let mut outcome = Err(LockTrustError::NothingWaits);
    let act = async {
        outcome = server.trust(hashes, trusted).await;
        match &outcome {
            Ok(names) => Ok(ToolOutput::Value(json!({"trusted": names}))),
            Err(error) => Err(ToolError::new(ErrorKind::Unavailable, error.to_string())),
        }
    };
    parts.executor.record_action(action, &caller.context(), act).await;
    let trusted = outcome.map_err(|error| match error {
        LockTrustError::Store(error) => ApiError::Unavailable(error.to_string()),
        error => ApiError::Conflict(error.to_string()),
    })?;
    tracing::info!(server = &**server.name(), caller = caller.name.as_deref(), ?trusted, "trusted");
    Ok(Json(TrustedDefinitions { server: server.name().to_string(), trusted }))
}

/// Who trusts: the user of this machine, or the name of a token.
fn who(server: &Server, caller: &Caller) -> String {
    let user = server.gate().locks().user();
    match (&caller.principal, &caller.name) {
        (Principal::Owner, _) | (_, None) if !user.is_empty() => user.to_owned(),
        (_, Some(name)) => name.to_string(),
        _ => "somebody on this machine".to_owned(),
    }
}
