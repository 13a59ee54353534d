//! The rules, what they would have decided about recorded calls, and people's decisions; for administrators.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_audit::{Error, Filter, HumanTime, Reader, Record};
use switchboard_runtime::{
    Policy, PolicyConfig, RulePolicy, ToolManager, Verdict, policy::PolicyCheck, redact,
};
use switchboard_toolcall::CallContext;
use utoipa::{IntoParams, ToSchema};

use crate::{
    PolicyReport,
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    policy_report,
    rest::{
        calls::ask,
        openapi::responses::{FailedResponse, RejectedResponse},
    },
    rule_compiler::CandidateRules,
};

/// How many calls are looked at.
const MOST: usize = 5000;
/// How many decisions are shown.
const DECISIONS: usize = 200;

/// The rules, and how the config is.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownPolicy {
    /// The file of the config.
    file: Option<String>,
    /// Why the file as it is now does not apply; then the one before it does.
    refused: Option<RefusedConfig>,
    allow: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    read_only: bool,
    ask_destructive: bool,
    ask_if: Vec<String>,
    allow_if: Vec<String>,
    deny_if: Vec<String>,
    /// How long a person has to answer.
    ask_timeout: String,
    four_eyes: bool,
    secret_arguments: Vec<String>,
}

/// A change of the config that was refused.
#[derive(Serialize, ToSchema)]
struct RefusedConfig {
    error: String,
    at: String,
}

/// A decision about a call, by a person or by a rule that a person left.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownDecision {
    /// The call, as the records know it.
    call_id: String,
    tool: String,
    caller: Option<String>,
    /// The program that called it, as it names itself.
    client: Option<String>,
    started: String,
    /// `allow`, `deny`, `expired` or `withdrawn`.
    decision: &'static str,
    by: Option<String>,
    reason: Option<String>,
    /// The rule that left it to a person.
    rule: String,
}

/// Since when calls are looked at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTestQuery {
    /// A duration before now, such as `1d`, which is the default.
    #[param(nullable = false, pattern = "^[0-9]{1,4}(s|m|h|d)$")]
    since: Option<String>,
}

/// The rules of the config, and whether its last change was refused.
#[utoipa::path(
    get, path = "/api/policy", operation_id = "show_policy", tag = "access",
    responses((status = 200, description = "The rules", body = ShownPolicy), RejectedResponse)
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ShownPolicy>, ApiError> {
    check(&caller)?;
    let state = parts.config_state.get();
    let PolicyConfig { allow, deny, ask, ask_if, secret_arguments, .. } = state.policy.clone();
    Ok(Json(ShownPolicy {
        file: state.file.as_ref().map(|file| file.display().to_string()),
        refused: state.refusal.as_ref().map(|refusal| RefusedConfig {
            error: redact::text(&refusal.error).into_owned(),
            at: timestamp(refusal.at),
        }),
        allow,
        deny,
        ask,
        ask_if,
        secret_arguments,
        read_only: state.policy.read_only,
        ask_destructive: state.policy.ask_destructive,
        allow_if: state.allow_if.clone(),
        deny_if: state.deny_if.clone(),
        ask_timeout: state.policy.ask_timeout.to_string(),
        four_eyes: state.policy.four_eyes,
    }))
}

/// What rules would have said of recorded calls: those of the body, as `[policy]` has them, or those that apply now.
#[utoipa::path(
    post, path = "/api/policy/test", operation_id = "test_policy", tag = "access",
    params(PolicyTestQuery),
    request_body(content = Object, description = "`[policy]` as JSON, with `allow_if` and `deny_if` of `[serve]`; nothing for the rules that apply"),
    responses(
        (status = 200, description = "What would end otherwise", body = Object),
        (status = 400, description = "The query or the rules are wrong", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn test(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    window: Result<Query<PolicyTestQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<PolicyReport>, ApiError> {
    check(&caller)?;
    let filter = filter(window)?;
    let candidate = candidate(&body?, &parts)?;
    let tools = parts.executor.tools().clone();
    let Some(store) = parts.store.clone() else { return Err(no_records()) };
    let report = ask(store, move |reader| {
        let records = reader.list(&filter)?;
        let judge = |record: &Record| judge(record, candidate.as_ref(), &tools);
        policy_report(&records, judge, |record| Ok(approved(reader, record)?.is_some()))
    });
    Ok(Json(report.await?))
}

/// Decisions about held calls, the latest first.
#[utoipa::path(
    get, path = "/api/approvals/decided", operation_id = "list_decisions", tag = "approvals",
    params(PolicyTestQuery),
    responses(
        (status = 200, description = "The decisions", body = Vec<ShownDecision>),
        (status = 400, description = "The query is wrong", body = FailedResponse),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn decisions(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    window: Result<Query<PolicyTestQuery>, QueryRejection>,
) -> Result<Json<Vec<ShownDecision>>, ApiError> {
    check(&caller)?;
    let filter = filter(window)?;
    let Some(store) = parts.store.clone() else { return Err(no_records()) };
    let decided = ask(store, move |reader| {
        let mut decisions = Vec::new();
        for record in reader.list(&filter)? {
            if let Some(approval) = approved(reader, &record)? {
                decisions.push(ShownDecision {
                    call_id: record.id.to_string(),
                    tool: record.tool,
                    caller: record.caller,
                    client: record.client,
                    started: timestamp(record.started),
                    decision: approval.decision.code(),
                    by: approval.by,
                    reason: approval.reason,
                    rule: approval.rule,
                });
            }
            if decisions.len() == DECISIONS {
                break;
            }
        }
        Ok(decisions)
    });
    Ok(Json(decided.await?))
}

fn approved(
    reader: &mut Reader,
    record: &Record,
) -> Result<Option<switchboard_runtime::Approval>, Error> {
    Ok(reader.show(record.id)?.and_then(|detail| detail.approval))
}

/// Rules of a request.
struct Candidate {
    /// Decides by names and annotations only.
    names: RulePolicy,
    /// Decides by arguments, too.
    policy: Option<Arc<dyn Policy>>,
}

/// Returns what rules decide about a recorded call: by its names alone if its tool is gone.
fn judge(record: &Record, candidate: Option<&Candidate>, tools: &ToolManager) -> (Verdict, bool) {
    let Some(tool) = tools.get(&record.tool) else {
        let names = [record.tool.as_str()];
        return (candidate.map_or(Verdict::Allow, |rules| rules.names.judge_names(&names)), false);
    };
    let policy = match candidate {
        Some(Candidate { names, policy: None }) => return (names.judge(&tool), true),
        Some(Candidate { policy, .. }) => policy.as_ref(),
        None => tools.policy(),
    };
    let Some(policy) = policy else { return (Verdict::Allow, true) };
    let args: Value = serde_json::from_str(&record.arguments).unwrap_or_default();
    let caller = record.caller.as_deref().map(Into::into);
    let cx = CallContext { caller, ..CallContext::default() };
    let verdict = match policy.check(&tool, &args, &cx) {
        PolicyCheck::Ready(verdict) => verdict,
        // The rules of a config never wait.
        PolicyCheck::Pending(_) => policy.standing(&tool),
    };
    (verdict, true)
}

/// Returns the rules of a body; `None` if the body is empty.
fn candidate(body: &[u8], parts: &Parts) -> Result<Option<Candidate>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let wrong = |error: String| ApiError::BadRequest(format!("the rules are wrong: {error}"));
    let rules = CandidateRules::read(body).map_err(|error| wrong(error.to_string()))?;
    let names = RulePolicy::new(rules.policy.clone()).map_err(|error| wrong(error.to_string()))?;
    let policy = match (&parts.rule_compiler, rules.has_expressions()) {
        (_, false) => None,
        (Some(compiler), true) => Some(compiler.compile(rules).map_err(wrong)?),
        (None, true) => {
            return Err(wrong("expressions are tested with `switchboard policy test`".to_owned()));
        }
    };
    Ok(Some(Candidate { names, policy }))
}

fn filter(window: Result<Query<PolicyTestQuery>, QueryRejection>) -> Result<Filter, ApiError> {
    let Query(window) = window.map_err(|problem| ApiError::BadRequest(problem.body_text()))?;
    let since: HumanTime = window
        .since
        .as_deref()
        .unwrap_or("1d")
        .parse()
        .map_err(|error| ApiError::BadRequest(format!("since: {error}")))?;
    Ok(Filter { since: Some(since.0), limit: Some(MOST), ..Filter::default() })
}

fn no_records() -> ApiError {
    ApiError::Unavailable("there are no records to look at: they are only in memory".to_owned())
}

/// Fails unless the caller administers and sees all tools: rules name tools, and the records are everybody's.
fn check(caller: &Caller) -> Result<(), ApiError> {
    match caller.may_administer() && !caller.visibility().hides_tools() {
        true => Ok(()),
        false => Err(ApiError::Forbidden(
            "this token may not see the rules; `switchboard token new --admin` makes one that may"
                .to_owned(),
        )),
    }
}
