//! Why a sign-in fails.

/// Why a sign-in, a refresh or a revocation failed. Holds nothing that is secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that tokens must not be sent to.
    #[error("`{url}` is neither https nor on this machine")]
    Insecure {
        /// The address.
        url: String,
    },
    /// An address in the network that we are in, which a server of the public internet has named.
    #[error(
        "`{url}` is in a private network, and the server that names it is not; if it is right, set `issuer` in its `oauth` settings"
    )]
    Private {
        /// The address.
        url: String,
    },
    /// A request failed.
    #[error("failed to {what} at {url}: {reason}")]
    Request {
        /// What was tried.
        what: &'static str,
        /// Where.
        url: String,
        /// Why it failed.
        reason: String,
    },
    /// The server has no metadata for a sign-in.
    #[error(
        "{url} does not say where to sign in: it has no OAuth metadata. If it takes a fixed token, set it in `headers`"
    )]
    NoMetadata {
        /// The server's address.
        url: String,
    },
    /// Metadata that must not be used.
    #[error("the OAuth metadata cannot be used: {0}")]
    Metadata(String),
    /// Settings that cannot be used.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// A caller's token is to be exchanged, and the caller has none.
    #[error("this caller has no JWT that could be exchanged")]
    NoSubject,
    /// There is no way to get a client id.
    #[error(
        "{issuer} registers no clients by itself; register one there with the redirect address http://127.0.0.1/callback \
         and set `client_id` in its `oauth` settings"
    )]
    NoClient {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server said no.
    #[error("the authorization server refused: {code}{}", description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// The error code of OAuth.
        code: String,
        /// What it says of it.
        description: Option<String>,
    },
    /// The authorization server can say neither yes nor no for now.
    #[error("the authorization server cannot answer now: {code}")]
    Busy {
        /// The error code of OAuth, or the status.
        code: String,
    },
    /// There is no sign-in any more that could be renewed.
    #[error("nobody is signed in any more")]
    SignedOut,
    /// What came back from the browser belongs to no sign-in of ours, or comes from somebody else.
    #[error("the response of the browser was refused: {0}")]
    Response(String),
    /// The sign-in took too long.
    #[error("nobody signed in within {0} s")]
    TimedOut(u64),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] switchboard_vault::Error),
    /// What the gateways of a cluster share cannot be used.
    #[error("the sign-ins cannot be used: {0}")]
    Store(#[source] switchboard_toolcall::BoxError),
    /// This machine cannot listen for the browser.
    #[error("failed to listen for the browser on this machine")]
    Listen(#[source] std::io::Error),
}

impl Error {
    /// Whether the same may succeed a little later, without anybody doing anything about the sign-in.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Request { .. } | Self::Busy { .. } | Self::Vault(_) | Self::Store(_))
    }

    /// Whether the authorization server or a person refused, so that trying the same again is of no use.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Response(_))
    }
}
