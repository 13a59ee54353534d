//! Signing in at the issuer of JWTs instead of typing a token.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::{request, uri::Uri};
use switchboard_access::Rejection;

use super::{
    authorize::{LONGEST, back, sent_to, with_cookie},
    clients::nothing_here,
    pages,
};
use crate::gateway::Parts;

/// Sends the browser to the issuer. The query is the client's request, as at the authorization endpoint.
pub(super) async fn begin(State(parts): State<Arc<Parts>>, head: request::Parts) -> Response {
    if parts.access.oidc_issuer().is_none() {
        return nothing_here(&head.uri).await;
    }
    match parts.access.begin_oidc(&head, query(&head.uri)).await {
        Ok(redirect) => with_cookie(sent_to(&redirect.url), Some(redirect.cookie)),
        Err(rejection) => failed(&rejection),
    }
}

/// Takes the browser back from the issuer, and shows the client's request.
pub(super) async fn finish(State(parts): State<Arc<Parts>>, head: request::Parts) -> Response {
    if parts.access.oidc_issuer().is_none() {
        return nothing_here(&head.uri).await;
    }
    match parts.access.finish_oidc(&head, query(&head.uri)).await {
        Ok(signed_in) => {
            let response = back(&signed_in.query, signed_in.session.cookie);
            with_cookie(response, Some(signed_in.cookie))
        }
        Err(rejection) => failed(&rejection),
    }
}

fn query(uri: &Uri) -> &str {
    uri.query().filter(|query| query.len() <= LONGEST).unwrap_or_default()
}

fn failed(rejection: &Rejection) -> Response {
    pages::failed(rejection.status(), &rejection.to_string(), None)
}
