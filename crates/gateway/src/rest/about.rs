//! The gateway's description of itself.

use std::sync::Arc;

use axum::{Extension, extract::State};
use switchboard_access::Caller;

use crate::{
    AboutGateway, gateway::Parts, json_body::Json, rest::openapi::responses::RejectedResponse,
};

/// The version, and for who administers the gateway also the address and the config.
#[utoipa::path(
    get, path = "/api/gateway", operation_id = "show_gateway", tag = "watch",
    responses((status = 200, description = "The gateway", body = AboutGateway), RejectedResponse)
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<AboutGateway> {
    let about = match caller.may_administer() {
        true => AboutGateway::clone(&parts.about.get()),
        false => AboutGateway::default(),
    };
    Json(AboutGateway { cluster: parts.shared_records.is_some(), ..about })
}
