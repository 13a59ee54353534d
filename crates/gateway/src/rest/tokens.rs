//! Tokens, for administrators: lists, creates and revokes them, and shows which tools each may see.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::StatusCode,
};
use serde::{Deserialize, Serialize};
use switchboard_access::{Caller, NewToken, Token, TokensError, oauth::Grant};
use switchboard_runtime::Verdict;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    profile_view,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// How many characters a name may have.
const LONGEST_NAME: usize = 100;

/// A token as it is shown: its secret is kept nowhere.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownToken {
    name: String,
    /// Patterns of the tools that it may see; unset if it may see all.
    tools: Option<Vec<String>>,
    /// The profile through which it sees them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    profile: Option<String>,
    /// How many of the tools that there are now it may see.
    visible: usize,
    /// Its rate limit, such as `60/m`.
    rate: Option<String>,
    /// How many requests it may have at once.
    concurrent: Option<usize>,
    /// What its chats over `/v1` may cost in 24 hours, by the prices of the models.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    cost_budget: Option<f64>,
    admin: bool,
    approve: bool,
    watch: bool,
    created: String,
    /// The OAuth client that has it; unset for a token of `switchboard token new`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    client: Option<ShownClient>,
}

/// An OAuth client, and who let it in.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownClient {
    id: String,
    /// The name that the client gives itself.
    name: String,
    /// Who let it in.
    user: String,
    /// The address that its tokens are for.
    resource: String,
    /// When it has to be let in again, if it stays away until then.
    expires: Option<String>,
}

impl ShownClient {
    fn of(grant: &Grant) -> Self {
        Self {
            id: grant.client_id.clone(),
            name: grant.client_name.clone(),
            user: grant.user.name(),
            resource: grant.resource.clone(),
            expires: grant.expires().map(|expires| format!("{expires:.0}")),
        }
    }
}

/// The tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownTokens {
    tokens: Vec<ShownToken>,
    /// How many tools there are.
    tools: usize,
}

/// A tool that a token sees.
#[derive(Serialize, ToSchema)]
pub(crate) struct VisibleTool {
    name: String,
    /// Whether a person is asked before each call of it.
    asks: bool,
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedToken {
    /// What records will call the caller.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    /// Patterns of the tools that it may see; all if unset.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// The profile through which it sees them; none if unset.
    #[serde(default)]
    profile: Option<String>,
    /// What its chats over `/v1` may cost in 24 hours, by the prices of the models; no limit if unset.
    #[serde(default)]
    cost_budget: Option<f64>,
    #[serde(default)]
    #[schema(required = false)]
    admin: bool,
    #[serde(default)]
    #[schema(required = false)]
    approve: bool,
    #[serde(default)]
    #[schema(required = false)]
    watch: bool,
}

/// A token that was made.
#[derive(Serialize, ToSchema)]
pub(crate) struct MadeToken {
    name: String,
    /// The secret; it is shown only now.
    token: String,
}

/// The tokens, for who administers and sees all tools.
#[utoipa::path(
    get, path = "/api/tokens", operation_id = "list_tokens", tag = "access",
    responses((status = 200, description = "The tokens", body = ShownTokens), RejectedResponse)
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ShownTokens>, ApiError> {
    check(&caller)?;
    let manager = parts.executor.tools();
    let tools = manager.listed();
    let shown = |token: &Arc<Token>| {
        let entry = token.entry();
        let bearer = bearer(&parts, token);
        ShownToken {
            name: entry.name.clone(),
            tools: entry.tools.clone(),
            profile: entry.profile.clone(),
            visible: bearer.map_or(0, |bearer| manager.listed_for(bearer.visibility()).len()),
            rate: entry.rate.map(|rate| rate.to_string()),
            concurrent: entry.concurrent,
            cost_budget: entry.cost_budget,
            admin: entry.admin,
            approve: entry.approve,
            watch: entry.watch,
            created: format!("{:.0}", entry.created),
            client: entry.oauth.as_deref().map(ShownClient::of),
        }
    };
    let tokens = parts.access.tokens().all().iter().map(shown).collect();
    Ok(Json(ShownTokens { tokens, tools: tools.len() }))
}

/// What a token sees of the tools that there are now, for who administers and sees all tools.
#[utoipa::path(
    get, path = "/api/tokens/{name}/tools", operation_id = "list_tools_of_token", tag = "access",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "Names of tools, and what the rules say of each", body = Vec<VisibleTool>),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such token", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn tools(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Vec<VisibleTool>>, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    check(&caller)?;
    let tokens = parts.access.tokens().all();
    let Some(token) = tokens.iter().find(|token| token.entry().name == name) else {
        return Err(ApiError::NotFound(format!("there is no token `{name}`")));
    };
    let manager = parts.executor.tools();
    let bearer = bearer(&parts, token);
    let listed = bearer.map(|bearer| manager.listed_for(bearer.visibility()));
    let listed = listed.unwrap_or_default().into_iter();
    let shown = listed.map(|tool| VisibleTool {
        name: tool.name().to_string(),
        asks: manager
            .policy()
            .is_some_and(|policy| matches!(policy.standing(&tool), Verdict::AskFirst(_))),
    });
    Ok(Json(shown.collect()))
}

/// Makes a token, which may do no more than who makes it.
#[utoipa::path(
    post, path = "/api/tokens", operation_id = "create_token", tag = "access",
    request_body = WantedToken,
    responses(
        (status = 201, description = "The token; its secret is shown only now", body = MadeToken),
        (status = 400, description = "The body is wrong", body = FailedResponse),
        (status = 409, description = "The name is taken, or tokens are those of a cluster", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        (status = 503, description = "The tokens cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn create(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<MadeToken>), ApiError> {
    check(&caller)?;
    check_alone(&parts)?;
    let manager = parts.executor.tools();
    let wrong =
        |error| ApiError::BadRequest(format!("the body must be like {{\"name\": …}}: {error}"));
    let wanted: WantedToken = serde_json::from_slice(&body?).map_err(wrong)?;
    if wanted.name.chars().count() > LONGEST_NAME {
        return Err(ApiError::BadRequest(format!("a name may have {LONGEST_NAME} characters")));
    }
    for (right, is_wanted, is_held) in [
        ("approve", wanted.approve, caller.may_approve),
        ("watch", wanted.watch, caller.visibility().watches()),
    ] {
        if is_wanted && !is_held {
            let text = format!("your token has not the right `{right}`, and cannot give it");
            return Err(ApiError::Forbidden(text));
        }
    }
    let WantedToken { name, tools, profile, cost_budget, admin, approve, watch } = wanted;
    // Whoever has a budget gives no more than that.
    let own = caller.cost_budget.map(|own| own.most);
    let cost_budget = match (cost_budget, own) {
        (Some(wanted), Some(own)) => Some(wanted.min(own)),
        (wanted, own) => wanted.or(own),
    };
    if let Some(profile) = profile.as_ref().filter(|name| manager.profile(name).is_none()) {
        return Err(ApiError::BadRequest(format!("there is no profile `{profile}`")));
    }
    let new = NewToken {
        name: name.clone(),
        tools,
        profile,
        cost_budget,
        admin,
        approve,
        watch,
        ..NewToken::default()
    };
    let tokens = parts.access.tokens().clone();
    let token = at(move || tokens.create(new)).await?;
    tracing::info!(token = name, caller = caller.name.as_deref(), "asked to make a token");
    Ok((StatusCode::CREATED, Json(MadeToken { name, token })))
}

/// Revokes a token.
#[utoipa::path(
    delete, path = "/api/tokens/{name}", operation_id = "revoke_token", tag = "access",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 204, description = "It is worthless from now on"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such token", body = FailedResponse),
        (status = 409, description = "Tokens are those of a cluster", body = FailedResponse),
        (status = 503, description = "The tokens cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn revoke(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    check(&caller)?;
    check_alone(&parts)?;
    let (tokens, revoked) = (parts.access.tokens().clone(), name.clone());
    let bearer =
        tokens.all().iter().find(|token| token.entry().name == name).map(|token| token.caller());
    at(move || tokens.revoke(&revoked)).await?;
    if let Some(bearer) = bearer {
        for api in parts.apis.iter().flat_map(|apis| apis.all()) {
            if let Err(error) = api.sign_out(&bearer.principal).await {
                tracing::warn!(api = &**api.name(), %error, "a caller could not be signed out");
            }
        }
        if let Some(servers) = &parts.servers {
            servers.sign_out_everywhere(&bearer.principal).await;
        }
    }
    tracing::info!(token = name, caller = caller.name.as_deref(), "asked to revoke a token");
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the bearer of a token as it is admitted; `None` if it would not be.
fn bearer(parts: &Parts, token: &Token) -> Option<Caller> {
    profile_view::enter(parts, parts.access.bearer(token).ok()?, None).ok()
}

/// Fails unless the caller administers and sees all tools: otherwise it could create a token that sees more.
fn check(caller: &Caller) -> Result<(), ApiError> {
    match caller.may_administer() && !caller.visibility().hides_tools() {
        true => Ok(()),
        false => Err(ApiError::Forbidden(
            "this token may not see tokens; `switchboard token new --admin` makes one that may"
                .to_owned(),
        )),
    }
}

/// Fails in a cluster, whose tokens are signed and shared: the command creates those.
fn check_alone(parts: &Parts) -> Result<(), ApiError> {
    match parts.access.peers() {
        None => Ok(()),
        Some(_) => Err(ApiError::Conflict(
            "tokens of a cluster are made and revoked with `switchboard token`".to_owned(),
        )),
    }
}

/// Runs `work` off the serving threads.
async fn at<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokensError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| ApiError::Unavailable(error.to_string()))?.map_err(|error| match error {
        TokensError::Invalid(text) => ApiError::BadRequest(text),
        TokensError::Taken(_) => ApiError::Conflict(error.to_string()),
        TokensError::Unknown(_) => ApiError::NotFound(error.to_string()),
        error => {
            tracing::error!(error = &error as &dyn std::error::Error, "tokens failed");
            ApiError::Unavailable("the tokens cannot be written; the log says why".to_owned())
        }
    })
}
