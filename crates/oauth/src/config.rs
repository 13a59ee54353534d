//! The settings of `[servers.x.oauth]`.

use serde::Deserialize;
use switchboard_vault::Secret;

/// How to sign in to a server; all of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthConfig {
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, if it has one; best as `${secret:NAME}`.
    #[schemars(with = "Option<String>")]
    pub client_secret: Option<Secret>,
    /// The address of a client id metadata document, used where the authorization server supports such.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for; by default those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The only issuer that is signed in at.
    pub issuer: Option<String>,
}
