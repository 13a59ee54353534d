//! `auth` of `[servers.x]` and `[apis.x]`: whose sign-in is used, and how it is come by (SPEC AU-3).

use serde::Deserialize;
use url::Url;

use super::config::{GrantKind, OauthConfig};

/// Whose sign-in calls to a server or an API use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServerAuth {
    /// One for all callers.
    #[default]
    Shared,
    /// Each caller's own.
    User,
    /// Nobody's: the client of the `oauth` settings itself has access.
    Client,
    /// Each caller's own, got for the token that the caller has for us.
    Exchange,
}

impl ServerAuth {
    /// Its name in the config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::User => "user",
            Self::Client => "client",
            Self::Exchange => "exchange",
        }
    }

    /// How tokens are come by.
    pub fn grant(self) -> GrantKind {
        match self {
            Self::Shared | Self::User => GrantKind::Person,
            Self::Client => GrantKind::Client,
            Self::Exchange => GrantKind::Exchange,
        }
    }

    /// Whether each caller has credentials of its own.
    pub fn is_per_caller(self, oauth: &OauthConfig) -> bool {
        match self {
            Self::User => true,
            Self::Exchange => !oauth.has_fixed_subject(),
            Self::Shared | Self::Client => false,
        }
    }

    /// Checks that the settings have what is needed to sign in so. `section` is where they stand: `servers` or `apis`.
    ///
    /// # Errors
    /// Says which setting is missing or has no use.
    pub fn check(self, section: &str, oauth: &OauthConfig) -> Result<(), String> {
        let checked = oauth.check(self.grant());
        checked.map_err(|problem| self.conflict(&format!("[{section}.NAME.oauth] {problem}")))
    }

    /// Checks that no other credentials would be sent instead: in headers, or in the address, which is the setting `key`.
    ///
    /// # Errors
    /// Says which.
    pub fn check_credentials<'a>(
        self,
        headers: impl IntoIterator<Item = &'a String>,
        key: &str,
        url: Option<&str>,
    ) -> Result<(), String> {
        let problem = if headers.into_iter().any(|name| name.eq_ignore_ascii_case("authorization"))
        {
            "its `headers` have an `Authorization`, which would be sent instead; remove it"
                .to_owned()
        } else if url.is_some_and(has_user) {
            format!("its `{key}` has a user or a password, which would be sent instead; remove it")
        } else {
            return Ok(());
        };
        Err(self.conflict(&problem))
    }

    /// Says what cannot be together with it.
    pub fn conflict(self, problem: &str) -> String {
        format!("auth = \"{}\": {problem}", self.name())
    }
}

/// Whether an address holds a user or a password.
fn has_user(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}
