//! What the gateway says of itself.

use std::sync::Arc;

use axum::{Extension, Json, extract::State};
use switchboard_access::Caller;

use crate::{AboutGateway, gateway::Parts, rest::openapi::responses::Refused};

/// The version, and for who administers the gateway also the address and the config.
#[utoipa::path(
    get, path = "/api/gateway", operation_id = "show_gateway", tag = "watch",
    responses((status = 200, description = "The gateway", body = AboutGateway), Refused)
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<AboutGateway> {
    match caller.may_administer() {
        true => Json(AboutGateway::clone(&parts.about.get())),
        false => Json(AboutGateway::default()),
    }
}
