//! The authorization endpoint: a person signs in, sees who wants what, and decides.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Request, State, rejection::BytesRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header, request};
use indexmap::IndexMap;
use switchboard_access::oauth::{
    AuthorizationError, AuthorizationRequest, OAuthError, Parameters, Person,
};

use super::{
    AUTHORIZE,
    clients::{form, issuer, nothing_here},
    pages::{self, FormFields, ToolGroup},
};
use crate::{admission, error::ApiError, gateway::Parts, profile_view};

/// The longest request of a client.
pub(super) const LONGEST: usize = 16 << 10;

/// Shows the page to sign in, or the one to decide.
pub(super) async fn show(State(parts): State<Arc<Parts>>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if parts.access.oauth().is_none() {
        return nothing_here(&head.uri).await;
    }
    let query = head.uri.query().unwrap_or_default().to_owned();
    if query.len() > LONGEST {
        return pages::failed(StatusCode::BAD_REQUEST, "the request is too long", None);
    }
    match parts.access.person(&head, admission::peer(&head)).await {
        Some(person) => consent_page(&parts, &head, &query, &person).await,
        None if is_from_elsewhere(&head) => pages::again(&query),
        None => sign_in_page(&parts, &head, &query, None),
    }
}

/// Signs a person in.
pub(super) async fn sign_in(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (query, sent) = match own_form(&parts, &head, body, "sign-in", None).await {
        Ok(sent) => sent,
        Err(response) => return response,
    };
    let token = sent.one("token").ok().flatten().unwrap_or_default();
    match parts.access.sign_in_person(&head, token.trim()).await {
        Ok(session) => back(&query, session.cookie),
        Err(rejection) => sign_in_page(&parts, &head, &query, Some(&rejection.to_string())),
    }
}

/// Signs a person out, so that another can sign in.
pub(super) async fn sign_out(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let query = match own_form(&parts, &head, body, "sign-out", None).await {
        Ok((query, _)) => query,
        Err(response) => return response,
    };
    match parts.access.sign_out_person(&head).await {
        Ok(cookie) => back(&query, Some(cookie)),
        Err(rejection) => pages::failed(rejection.status(), &rejection.to_string(), None),
    }
}

/// Does what the person decided, and sends the browser back to the client.
pub(super) async fn decide(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let person = parts.access.person(&head, admission::peer(&head)).await;
    let (query, sent) = match own_form(&parts, &head, body, "consent", person.as_ref()).await {
        Ok(sent) => sent,
        Err(response) => return response,
    };
    let Some(person) = person else { return sign_in_page(&parts, &head, &query, None) };
    let wanted = match wanted(&parts, &head, &query).await {
        Ok(wanted) => wanted,
        Err(response) => return response,
    };
    match sent.one("decision").ok().flatten() {
        Some("allow") => allow(&parts, &wanted, &person, &sent).await,
        _ => sent_to(&wanted.denied()),
    }
}

async fn allow(
    parts: &Parts,
    wanted: &AuthorizationRequest,
    person: &Person,
    sent: &Parameters,
) -> Response {
    let groups = match groups(parts, person, wanted.profile()) {
        Ok(groups) => groups,
        Err(error) => return pages::failed(StatusCode::BAD_REQUEST, &error.to_string(), None),
    };
    let chosen: Vec<_> = groups
        .iter()
        .filter(|group| sent.all("tools").any(|pattern| pattern == group.pattern))
        .map(|group| group.pattern.clone())
        .collect();
    if chosen.is_empty() && !groups.is_empty() {
        let text = "no tool was chosen; choose some, or refuse";
        return pages::failed(StatusCode::BAD_REQUEST, text, None);
    }
    // All of them means also those that come later.
    let tools = (chosen.len() < groups.len()).then_some(chosen);
    match parts.access.consent(wanted, person, tools).await {
        Ok(address) => sent_to(&address),
        Err(error) => pages::failed(StatusCode::SERVICE_UNAVAILABLE, &error.to_string(), None),
    }
}

/// Returns the client's request and the fields of a form, if it was sent by our own page to do `purpose`.
async fn own_form(
    parts: &Parts,
    head: &request::Parts,
    body: Result<Bytes, BytesRejection>,
    purpose: &str,
    person: Option<&Person>,
) -> Result<(String, Parameters), Response> {
    if parts.access.oauth().is_none() {
        return Err(nothing_here(&head.uri).await);
    }
    let wrong = |error: OAuthError| pages::failed(error.status(), &error.to_string(), None);
    let sent = form(head, body).map_err(wrong)?;
    let query = sent.one("request").map_err(wrong)?.unwrap_or_default().to_owned();
    let field = sent.one("form").map_err(wrong)?.unwrap_or_default();
    let name = person.map(Person::name).unwrap_or_default();
    let checked = parts.access.check_form(head, field, &[purpose, &query, &name]);
    checked.map_err(|rejection| pages::failed(rejection.status(), &rejection.to_string(), None))?;
    Ok((query, sent))
}

/// Checks the client's request; a response instead if it cannot be granted.
async fn wanted(
    parts: &Parts,
    head: &request::Parts,
    query: &str,
) -> Result<AuthorizationRequest, Response> {
    let wrong =
        |error: &OAuthError| pages::failed(StatusCode::BAD_REQUEST, &error.to_string(), None);
    let issuer = issuer(parts, head).map_err(|error| wrong(&error))?;
    let checked = parts.access.authorization(&issuer, &Parameters::parse(query.as_bytes())).await;
    checked.map_err(|error| match error {
        AuthorizationError::Page(error) => wrong(&error),
        // Not by itself: anybody can register an address, and would have a link of ours that leads there.
        AuthorizationError::Redirect { to, error } => {
            pages::failed(StatusCode::BAD_REQUEST, &error.to_string(), Some(&to))
        }
    })
}

async fn consent_page(
    parts: &Parts,
    head: &request::Parts,
    query: &str,
    person: &Person,
) -> Response {
    let wanted = match wanted(parts, head, query).await {
        Ok(wanted) => wanted,
        Err(response) => return response,
    };
    let groups = match groups(parts, person, wanted.profile()) {
        Ok(groups) => groups,
        Err(error) => return pages::failed(StatusCode::BAD_REQUEST, &error.to_string(), None),
    };
    let cookie = match parts.access.form_cookie(head) {
        Ok(cookie) => cookie,
        Err(rejection) => return pages::failed(rejection.status(), &rejection.to_string(), None),
    };
    let field = cookie.field(&["consent", query, &person.name()]);
    let fields = FormFields { query, field: &field };
    let field = cookie.field(&["sign-out", query, ""]);
    let sign_out = FormFields { query, field: &field };
    let sign_out = person.has_session().then_some(&sign_out);
    let response = pages::consent(&wanted, person, &groups, &fields, sign_out);
    with_cookie(response, cookie.set)
}

fn sign_in_page(
    parts: &Parts,
    head: &request::Parts,
    query: &str,
    error: Option<&str>,
) -> Response {
    match parts.access.form_cookie(head) {
        Ok(cookie) => {
            let field = cookie.field(&["sign-in", query, ""]);
            let issuer = parts.access.oidc_issuer();
            let response = pages::sign_in(&FormFields { query, field: &field }, issuer, error);
            with_cookie(response, cookie.set)
        }
        Err(rejection) => pages::failed(rejection.status(), &rejection.to_string(), None),
    }
}

/// Returns the tools that the person may see, by server; in the profile that the client asks for, if it asks for one.
///
/// # Errors
///
/// If there is no such profile for this person.
fn groups(
    parts: &Parts,
    person: &Person,
    profile: Option<&str>,
) -> Result<Vec<ToolGroup>, ApiError> {
    let mut groups: IndexMap<String, ToolGroup> = IndexMap::new();
    let caller = profile_view::enter(parts, person.caller.clone(), profile)?;
    for tool in parts.executor.tools().listed_for(caller.visibility()) {
        let (pattern, label) = match tool.spec().server() {
            Some(server) => (format!("{server}__*"), server.to_string()),
            None => (tool.name().to_string(), tool.name().to_string()),
        };
        let new = || ToolGroup { pattern: pattern.clone(), label, tools: Vec::new() };
        groups.entry(pattern.clone()).or_insert_with(new).tools.push(tool.name().to_string());
    }
    Ok(groups.into_values().collect())
}

/// Returns whether a page of another site led the browser here.
fn is_from_elsewhere(head: &request::Parts) -> bool {
    let site = head.headers.get("sec-fetch-site");
    site.is_some_and(|site| site == "cross-site" || site == "same-site")
}

/// Sends the browser to the client's request again.
pub(super) fn back(query: &str, cookie: Option<HeaderValue>) -> Response {
    with_cookie(sent_to(&format!("{AUTHORIZE}?{query}")), cookie)
}

pub(super) fn sent_to(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => {
            let mut response =
                (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response();
            let fixed = HeaderValue::from_static;
            response.headers_mut().insert(header::CACHE_CONTROL, fixed("no-store"));
            response.headers_mut().insert(header::REFERRER_POLICY, fixed("no-referrer"));
            response
        }
        Err(_) => pages::failed(StatusCode::BAD_REQUEST, "the request cannot be read", None),
    }
}

pub(super) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
