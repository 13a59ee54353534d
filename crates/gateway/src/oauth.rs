//! The gateway as an authorization server (SPEC AU-4): endpoints for clients, and pages for the person who lets them in.
//!
//! `switchboard_access::oauth` decides; this speaks HTTP. The pages work without script. Their forms carry the whole request of the
//! client, so that any gateway of a cluster can answer them.

mod authorize;
mod clients;
mod oidc;
mod html;
mod pages;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use switchboard_access::oauth::OIDC_CALLBACK;

use crate::gateway::Parts;

/// The paths of the endpoints, for the metadata.
pub(crate) const AUTHORIZE: &str = "/oauth/authorize";
pub(crate) const TOKEN: &str = "/oauth/token";
pub(crate) const REGISTER: &str = "/oauth/register";
pub(crate) const REVOKE: &str = "/oauth/revoke";
const SIGN_IN: &str = "/oauth/sign-in";
const SIGN_OUT: &str = "/oauth/sign-out";
const OIDC: &str = "/oauth/oidc";

/// Returns the pages that other sites may lead to.
pub(crate) fn pages() -> Router<Arc<Parts>> {
    Router::new()
        .route(AUTHORIZE, get(authorize::show))
        .route(OIDC, get(oidc::begin))
        .route(OIDC_CALLBACK, get(oidc::finish))
}

/// Returns the endpoints for clients, and those for the forms of our own pages.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    Router::new()
        .route(AUTHORIZE, post(authorize::decide))
        .route(SIGN_IN, post(authorize::sign_in))
        .route(SIGN_OUT, post(authorize::sign_out))
        .route(TOKEN, post(clients::token))
        .route(REGISTER, post(clients::register))
        .route(REVOKE, post(clients::revoke))
}
