//! Sign-ins to servers and APIs: who is signed in, and the caller's own with `auth = "user"`.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_apis::Api;
use switchboard_mcp_client::{Server, ServerAuth, SignInStatus};
use switchboard_runtime::redact;
use utoipa::ToSchema;

use super::{find, is_visible, sees_errors};
use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// The path parameter with the name of a server.
type Name = Result<Path<String>, PathRejection>;

/// A server's sign-in.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownSignIn {
    /// As in the config: `shared` if it is one for all callers, `client` if that is got without a person, `user` if it is the
    /// caller's own, `exchange` if that was got for a JWT.
    auth: &'static str,
    /// `signed_in`, or `needed` if somebody has to sign in: with `switchboard login NAME`, or, if it is the caller's own, at the
    /// address that `POST /api/servers/{name}/sign-in` gives; with `exchange`, by calling with a JWT.
    state: &'static str,
    /// Why a sign-in is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Who gave it.
    issuer: Option<String>,
    /// Who signed in, as the issuer calls them; unset if it does not say.
    account: Option<String>,
    scopes: Vec<String>,
    /// When its token ends.
    until: Option<String>,
    /// Whether it is then renewed without a person.
    renews: bool,
    /// How many callers are signed in, if each has its own; only for callers who may administer or watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    callers: Option<usize>,
}

impl ShownSignIn {
    /// Returns the sign-in that all callers share.
    pub(super) fn shared(server: &Server) -> Option<Self> {
        let auth = server.config().auth.name();
        match server.needs_sign_in() {
            Some(needed) => Some(Self::needed(auth, &needed.to_string())),
            None => server.signed_in().map(|status| Self::signed_in(auth, status)),
        }
    }

    /// Returns the caller's own sign-in.
    pub(super) async fn own(server: &Server, caller: &Caller) -> Self {
        let auth = server.config().auth.name();
        let shown = match server.sign_in_of(&caller.principal).await {
            Some(status) => Self::signed_in(auth, status),
            None if auth == "exchange" => {
                Self::needed(auth, "no call of yours with a JWT has used it")
            }
            None => Self::needed(auth, "each caller signs in itself"),
        };
        let callers = match sees_errors(caller) {
            true => Some(server.signed_in_callers().await.len()),
            false => None,
        };
        Self { callers, ..shown }
    }

    /// Returns the sign-in to an API that the caller's calls use; `None` if there is none, or the caller may not see it.
    pub(super) async fn of_api(api: &Api, caller: &Caller) -> Option<Self> {
        let (config, sees_errors) = (api.config(), sees_errors(caller));
        if !config.is_per_caller() && !sees_errors {
            return None;
        }
        let account = api.account(&caller.principal).await?;
        let auth = config.auth.name();
        let shown = match (account.status, account.needed) {
            (_, Some(needed)) => Self::needed(auth, &needed.to_string()),
            (Some(status), None) => Self::signed_in(auth, status),
            (None, None) => Self::needed(
                auth,
                match config.auth {
                    ServerAuth::Exchange if config.is_per_caller() => {
                        "no call of yours with a JWT has used it"
                    }
                    ServerAuth::User => "each caller signs in itself",
                    ServerAuth::Client | ServerAuth::Exchange => "no call has used it",
                    _ => "nobody has signed in",
                },
            ),
        };
        Some(Self { callers: account.callers.filter(|_| sees_errors), ..shown })
    }

    fn needed(auth: &'static str, reason: &str) -> Self {
        let reason = Some(redact::text(reason).into_owned());
        Self {
            auth,
            state: "needed",
            reason,
            issuer: None,
            account: None,
            scopes: Vec::new(),
            until: None,
            renews: false,
            callers: None,
        }
    }

    fn signed_in(auth: &'static str, status: SignInStatus) -> Self {
        Self {
            auth,
            state: "signed_in",
            reason: None,
            issuer: Some(status.issuer),
            account: status.account,
            scopes: status.scopes,
            until: status.until.map(timestamp),
            renews: status.renews,
            callers: None,
        }
    }
}

/// Where to sign in.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInAddress {
    /// A page of this gateway, for the caller alone, and once.
    url: String,
}

/// Opens the address at which the caller signs in to a server with `auth = "user"`.
#[utoipa::path(
    post, path = "/api/servers/{name}/sign-in", operation_id = "sign_in_to_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 201, description = "The address, for a browser", body = SignInAddress),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "Callers do not sign in to this server themselves", body = FailedResponse),
        (status = 503, description = "Nobody can sign in now", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn sign_in(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<(StatusCode, Json<SignInAddress>), ApiError> {
    let page = match find_own(&parts, &caller, name)? {
        OwnSignIn::Server(server) if server.config().auth == ServerAuth::Exchange => {
            return Err(exchanges());
        }
        OwnSignIn::Api(api) if api.config().auth == ServerAuth::Exchange => {
            return Err(exchanges());
        }
        OwnSignIn::Server(server) => {
            let page = server.open_sign_in(&caller.principal).await;
            page.map_err(|error| ApiError::Unavailable(error.for_model))?
        }
        OwnSignIn::Api(api) => api.open_sign_in(&caller.principal).await,
    };
    let none = || ApiError::Unavailable("this gateway has no address for sign-ins".to_owned());
    let url = page.ok_or_else(none)?.address().to_string();
    Ok((StatusCode::CREATED, Json(SignInAddress { url })))
}

/// Signs the caller out of a server with `auth = "user"`: its sign-in is revoked and forgotten.
#[utoipa::path(
    delete, path = "/api/servers/{name}/sign-in", operation_id = "sign_out_of_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 204, description = "The caller is not signed in there"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "Callers do not sign in to this server themselves", body = FailedResponse),
        (status = 503, description = "The vault cannot be used", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn sign_out(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<StatusCode, ApiError> {
    let (server, signed_out) = match find_own(&parts, &caller, name)? {
        OwnSignIn::Server(server) => {
            (server.name().clone(), server.sign_out(&caller.principal).await)
        }
        OwnSignIn::Api(api) => (api.name().clone(), api.sign_out(&caller.principal).await),
    };
    signed_out.map_err(|error| ApiError::Unavailable(error.to_string()))?;
    tracing::info!(server = &*server, caller = caller.name.as_deref(), "signed out");
    Ok(StatusCode::NO_CONTENT)
}

/// What callers sign in to themselves.
enum OwnSignIn {
    Server(Arc<Server>),
    Api(Arc<Api>),
}

fn exchanges() -> ApiError {
    let text = "callers do not sign in to this server: their JWTs are exchanged";
    ApiError::Conflict(text.to_owned())
}

/// Returns the server or API with this name, if each caller signs in to it.
fn find_own(parts: &Parts, caller: &Caller, name: Name) -> Result<OwnSignIn, ApiError> {
    let api = name.as_ref().ok().and_then(|Path(name)| find_api(parts, caller, name));
    let own = match api {
        Some(api) if api.config().is_per_caller() => Some(OwnSignIn::Api(api)),
        Some(_) => None,
        None => {
            let server = find(parts, caller, name)?;
            server.is_per_user().then_some(OwnSignIn::Server(server))
        }
    };
    own.ok_or_else(|| {
        let text = "callers do not sign in to this server themselves: its `auth` is not `user`";
        ApiError::Conflict(text.to_owned())
    })
}

/// Returns the API with this name, if it exists for the caller.
pub(super) fn find_api(parts: &Parts, caller: &Caller, name: &str) -> Option<Arc<Api>> {
    let api = parts.apis.as_ref()?.get(name)?;
    is_visible(api.name(), parts, caller).then_some(api)
}
