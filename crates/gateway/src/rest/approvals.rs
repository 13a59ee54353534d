//! Held calls, and people's decisions about them.

mod shown;

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
};
use serde::{Deserialize, Serialize};
use switchboard_access::Caller;
use switchboard_approvals::{ApprovalDecision, ApprovalQueue, Decider, Error, RuleScope};
use switchboard_runtime::{CallNames, ToolManager};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};
use shown::{DecidedApproval, ShownApproval, ShownRule};

/// The calls that wait.
#[derive(Serialize, ToSchema)]
pub(crate) struct PendingApprovals {
    approvals: Vec<ShownApproval>,
}

/// The standing approvals.
#[derive(Serialize, ToSchema)]
pub(crate) struct StandingApprovals {
    rules: Vec<ShownRule>,
}

/// A person's word about a held call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionRequest {
    decision: DecisionAction,
    /// Why; the model reads it if the call is denied.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: Option<String>,
    /// Whether a yes holds for later calls too: those with the same arguments, or all of the tool.
    #[serde(default)]
    remember: Option<RememberScope>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DecisionAction {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RememberScope {
    Arguments,
    Tool,
}

/// The calls that wait for a person, oldest first: those that the caller may decide about, and those that it may know of.
#[utoipa::path(
    get, path = "/api/approvals", operation_id = "list_approvals", tag = "approvals",
    responses(
        (status = 200, description = "The calls that wait", body = PendingApprovals),
        (status = 503, description = "There is no place for approvals", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<PendingApprovals>, ApiError> {
    let pending = on_queue(&parts, ApprovalQueue::pending).await?;
    let tools = parts.executor.tools();
    let shown = pending.into_iter().filter_map(|pending| {
        let asked_by = pending.asked_by.as_deref();
        let names = CallNames { tool: &pending.tool, caller: asked_by, ..CallNames::default() };
        let name = match caller.may_approve {
            true => tools.shown_tool(caller.visibility(), &names)?,
            false => caller.shown_call(&names, tools)?,
        };
        // Callers who may decide see what will run; others see what records show.
        let shown = ShownApproval::from(pending);
        let shown = if caller.may_approve { shown } else { shown.redacted(&name, &caller, tools) };
        Some(shown.of_tool(name))
    });
    Ok(Json(PendingApprovals { approvals: shown.collect() }))
}

/// Allows or denies a held call, once and for all.
#[utoipa::path(
    post, path = "/api/approvals/{id}", operation_id = "decide_approval", tag = "approvals",
    params(("id" = String, Path, description = "The id of the approval")),
    request_body = DecisionRequest,
    responses(
        (status = 200, description = "The approval, as it was decided", body = DecidedApproval),
        (status = 400, description = "The body is wrong", body = FailedResponse),
        (status = 404, description = "There is no such approval", body = FailedResponse),
        (status = 409, description = "It was decided already, or has expired", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        (status = 503, description = "There is no place for approvals", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn decide(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<DecidedApproval>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    may_approve(&caller)?;
    let visibility = caller.visibility().clone();
    let word = word(&body?)?;
    let verdict = ApprovalDecision {
        allow: word.decision == DecisionAction::Allow,
        by: named(&caller),
        decider: match &caller.name {
            Some(name) => Decider::Named(name.to_string()),
            None => Decider::Anonymous,
        },
        reason: word.reason.filter(|reason| !reason.trim().is_empty()),
        remember: word.remember.map(|remember| match remember {
            RememberScope::Arguments => RuleScope::Arguments,
            RememberScope::Tool => RuleScope::Tool,
        }),
    };
    let tools = parts.executor.tools().clone();
    let decided = on_queue(&parts, move |queue| {
        // A call that the caller may not see does not exist for it.
        let pending = queue.find(&id)?;
        match sees(&caller, &pending.tool, &tools) {
            true => queue.decide(&id, verdict),
            false => Err(Error::Unknown(id)),
        }
    });
    Ok(Json(DecidedApproval::from(decided.await?).for_caller(&visibility, parts.executor.tools())))
}

/// What people always allow, of tools that the caller may see; nothing for who neither decides nor watches, for
/// rules may have other callers' arguments.
#[utoipa::path(
    get, path = "/api/approvals/rules", operation_id = "list_approval_rules", tag = "approvals",
    responses(
        (status = 200, description = "The rules, oldest first", body = StandingApprovals),
        (status = 503, description = "There is no place for approvals", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn rules(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<StandingApprovals>, ApiError> {
    let rules = on_queue(&parts, ApprovalQueue::rules).await?;
    let tools = parts.executor.tools();
    let may_know = caller.may_approve || caller.visibility().watches();
    let visible = rules.into_iter().filter_map(|rule| {
        let name = shown_name(&caller, &rule.tool, tools).filter(|_| may_know)?;
        Some(ShownRule::from(rule).of_tool(name))
    });
    Ok(Json(StandingApprovals { rules: visible.collect() }))
}

/// Removes a standing approval: such calls are held again.
#[utoipa::path(
    delete, path = "/api/approvals/rules/{id}", operation_id = "forget_approval_rule", tag = "approvals",
    params(("id" = String, Path, description = "The id of the rule")),
    responses(
        (status = 200, description = "The rule, as it was", body = ShownRule),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such rule", body = FailedResponse),
        (status = 503, description = "There is no place for approvals", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn forget(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ShownRule>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    may_approve(&caller)?;
    let visibility = caller.visibility().clone();
    let tools = parts.executor.tools().clone();
    let forgotten = on_queue(&parts, move |queue| {
        let is_visible = |tool: &str| sees(&caller, tool, &tools);
        match queue.rules()?.iter().any(|rule| rule.id == id && is_visible(&rule.tool)) {
            true => queue.forget(&id),
            false => Err(Error::UnknownRule(id)),
        }
    });
    let forgotten = forgotten.await?;
    let names = CallNames { tool: &forgotten.tool, ..CallNames::default() };
    let name = parts.executor.tools().shown_tool(&visibility, &names).unwrap_or_default();
    Ok(Json(ShownRule::from(forgotten).of_tool(name)))
}

/// Returns what the caller calls the tool, as the config names it; `None` if it does not exist for the caller.
fn shown_name(caller: &Caller, tool: &str, tools: &ToolManager) -> Option<String> {
    tools.shown_tool(caller.visibility(), &CallNames { tool, ..CallNames::default() })
}

fn sees(caller: &Caller, tool: &str, tools: &ToolManager) -> bool {
    shown_name(caller, tool, tools).is_some()
}

/// Runs `work` with the queue, off the serving threads.
async fn on_queue<T: Send + 'static>(
    parts: &Parts,
    work: impl FnOnce(&ApprovalQueue) -> Result<T, Error> + Send + 'static,
) -> Result<T, ApiError> {
    let Some(queue) = parts.approvals.clone() else {
        let text = "there is no place for approvals: neither XDG_STATE_HOME nor HOME is set";
        return Err(ApiError::Unavailable(text.to_owned()));
    };
    let done = spawn_blocking(move || work(&queue)).await;
    done.map_err(|error| ApiError::Unavailable(error.to_string()))?.map_err(refused)
}

fn may_approve(caller: &Caller) -> Result<(), ApiError> {
    if caller.may_approve {
        return Ok(());
    }
    let name = caller.name.as_deref().unwrap_or_default();
    Err(ApiError::Forbidden(format!(
        "'{name}' may not decide about held calls; `switchboard token new --approve` makes a token that may"
    )))
}

/// Returns the name of the caller that decides, for the record.
fn named(caller: &Caller) -> String {
    match &caller.name {
        Some(name) => name.to_string(),
        None => "somebody on this machine".to_owned(),
    }
}

fn word(body: &[u8]) -> Result<DecisionRequest, ApiError> {
    let wrong = |problem: String| {
        let example = r#"{"decision":"allow"} or {"decision":"deny","reason":"…"}"#;
        ApiError::BadRequest(format!("the body must be like {example}: {problem}"))
    };
    let word: DecisionRequest =
        serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    match word.reason.as_ref().is_some_and(|reason| reason.chars().count() > 1000) {
        true => Err(wrong("the reason may have 1000 characters".to_owned())),
        false => Ok(word),
    }
}

fn refused(error: Error) -> ApiError {
    match error {
        Error::Unknown(_) | Error::UnknownRule(_) => ApiError::NotFound(error.to_string()),
        Error::Closed { .. } => ApiError::Conflict(error.to_string()),
        Error::FourEyes(_) => ApiError::Forbidden(error.to_string()),
        Error::RememberedDenial | Error::Ambiguous { .. } => {
            ApiError::BadRequest(error.to_string())
        }
        error => {
            tracing::error!(error = &error as &dyn std::error::Error, "approvals failed");
            ApiError::Unavailable(error.to_string())
        }
    }
}
