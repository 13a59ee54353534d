//! The pages on which callers sign in to servers with `auth = "user"` (SPEC AU-3). They work without scripts.
//!
//! An address belongs to one caller. The visitor must be that caller: by the console's session, by being the owner on this
//! machine, or by the caller's token, which the page asks for.

mod html;

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{Path, RawQuery, State},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderMap, HeaderValue, StatusCode, header, request};
use serde::Deserialize;
use switchboard_access::Caller;
use switchboard_mcp_client::{SignInPage, SignInPages};
use url::form_urlencoded;

use crate::{admission, gateway::Parts};
use html::{Ask, Page};

/// The beginning of the names of cookies that tie a sign-in to the browser that began it.
const COOKIE: &str = "switchboard_sign_in_";

/// Returns the routes of the pages.
pub(crate) fn routes(parts: &Arc<Parts>) -> Router<Arc<Parts>> {
    let visit = middleware::from_fn_with_state(parts.clone(), admission::visit);
    let own = middleware::from_fn_with_state(parts.clone(), admission::look);
    let visited = Router::new()
        .route("/sign-in/callback", get(finish))
        .route("/sign-in/{id}", get(show))
        .route_layer(visit);
    visited.merge(Router::new().route("/sign-in/{id}", post(begin)).route_layer(own))
}

/// What the page's form sends.
#[derive(Deserialize)]
struct SignInForm {
    /// The caller's token, if its browser is not signed in.
    #[serde(default)]
    token: String,
}

async fn show(
    State(parts): State<Arc<Parts>>,
    Path(id): Path<String>,
    head: request::Parts,
) -> Response {
    let Some((_, page)) = find(&parts, &id).await else { return gone() };
    match visitor(&parts, &head).await {
        Some(caller) if caller.principal == *page.principal() => {
            html::ask(&page, Ask::ToGoOn).into_response()
        }
        Some(other) if other.name.is_some() => {
            html::ask(&page, Ask::ForToken("You are signed in here as another caller."))
                .with_status(StatusCode::FORBIDDEN)
        }
        _ => html::ask(&page, Ask::ForToken("")).into_response(),
    }
}

async fn begin(
    State(parts): State<Arc<Parts>>,
    Path(id): Path<String>,
    head: request::Parts,
    Form(form): Form<SignInForm>,
) -> Response {
    if let Err(rejection) = parts.access.check_own_form(&head) {
        return Page::new("Not signed in", &rejection.to_string()).with_status(rejection.status());
    }
    let Some((pages, page)) = find(&parts, &id).await else { return gone() };
    let caller = match form.token.trim() {
        "" => visitor(&parts, &head).await,
        token => parts.access.identify(token).await.ok().map(|admitted| admitted.caller),
    };
    if caller.is_none_or(|caller| caller.principal != *page.principal()) {
        let wrong = Ask::ForToken("That is not the token of this caller.");
        return html::ask(&page, wrong).with_status(StatusCode::FORBIDDEN);
    }
    let redirect = match pages.begin(&page).await {
        Ok(redirect) => redirect,
        Err(error) => {
            tracing::warn!(server = page.server_name(), %error, "a caller cannot sign in");
            let text = format!("{error}. Tell the gateway's operator.");
            return Page::new("Not signed in", &text).with_status(StatusCode::BAD_GATEWAY);
        }
    };
    let secure = match page.address().scheme() {
        "https" => "; Secure",
        _ => "",
    };
    // Sent along when the authorization server sends the browser back, which is a visit from another site.
    let cookie = format!(
        "{}={}; Path=/sign-in; Max-Age=600; HttpOnly; SameSite=Lax{secure}",
        cookie_name(page.id()),
        redirect.cookie.expose()
    );
    let (Ok(cookie), Ok(to)) =
        (HeaderValue::from_str(&cookie), HeaderValue::from_str(redirect.url.as_str()))
    else {
        return Page::new("Not signed in", "The address of the sign-in cannot be used.")
            .with_status(StatusCode::BAD_GATEWAY);
    };
    let mut response =
        Page::new("Sign in", "You are sent to the sign-in.").with_status(StatusCode::SEE_OTHER);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::LOCATION, to);
    response
}

async fn finish(
    State(parts): State<Arc<Parts>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let mut states = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "state");
    let state = states.next().map(|(_, state)| state.into_owned()).unwrap_or_default();
    let brought = cookies(&headers);
    let Some(pages) = pages(&parts) else { return gone() };
    match pages.finish(&state, &brought, &query).await {
        Ok(server) => {
            tracing::info!(server, "a caller has signed in");
            let text = format!(
                "You are signed in to {server}. You can close this page; the call goes on."
            );
            Page::new("Signed in", &text).into_response()
        }
        Err(error) => {
            let text = format!("{error}. Make the call again to get a new address.");
            Page::new("Not signed in", &text).with_status(StatusCode::BAD_REQUEST)
        }
    }
}

/// Returns who the browser is, as far as it is known without a token.
async fn visitor(parts: &Parts, head: &request::Parts) -> Option<Caller> {
    parts.access.visitor(head, admission::peer(head)).await.ok().flatten()
}

fn pages(parts: &Parts) -> Option<&Arc<SignInPages>> {
    Some(&parts.servers.as_ref()?.oauth()?.pages)
}

async fn find<'a>(parts: &'a Parts, id: &str) -> Option<(&'a Arc<SignInPages>, Arc<SignInPage>)> {
    let pages = pages(parts)?;
    Some((pages, pages.find(id).await?))
}

fn gone() -> Response {
    let text =
        "This address was used already, or has expired. Make the call again to get a new one.";
    Page::new("Gone", text).with_status(StatusCode::GONE)
}

/// The name of the cookie of one page, so that two sign-ins in one browser do not end each other.
fn cookie_name(id: &str) -> String {
    format!("{COOKIE}{}", &id[..id.len().min(8)])
}

/// Returns the values of all cookies that tie a sign-in to this browser.
fn cookies(headers: &HeaderMap) -> Vec<&str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| name.trim().starts_with(COOKIE))
        .map(|(_, value)| value.trim())
        .collect()
}
