//! The settings of the authorization server.

use std::time::Duration;

use serde::Deserialize;
use switchboard_toolcall::HumanDuration;

use super::OidcConfig;
use crate::rate::Rate;

/// The settings of `[serve.oauth]`; all have defaults.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OAuthConfig {
    /// How long an access token is valid.
    pub access_token: HumanDuration,
    /// How long a client may stay away before a person has to let it in again.
    pub refresh_token: HumanDuration,
    /// Whether clients without a metadata document may register themselves.
    pub registration: bool,
    /// How many clients may register themselves, all together.
    pub registration_rate: Rate,
    /// Whether the user who runs the gateway needs no token to let clients in, on loopback; by default unless `require_token` is set.
    pub local_user: Option<bool>,
    /// Whether metadata documents of clients may be on private addresses, and on this machine without TLS.
    pub private_addresses: bool,
    /// Lets people sign in at the issuer of `[serve.jwt]` instead of typing a token.
    pub oidc: Option<OidcConfig>,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            access_token: HumanDuration(Duration::from_secs(60 * 60)),
            refresh_token: HumanDuration(Duration::from_secs(30 * 24 * 60 * 60)),
            registration: true,
            registration_rate: Rate::per_hour(60),
            local_user: None,
            private_addresses: false,
            oidc: None,
        }
    }
}
