//! Which callers may share an access token.

use switchboard_toolcall::{CallerToken, Principal};

use super::{random, server_auth::ServerAuth};

/// A caller of a server where each has its own access. Where tokens are exchanged, what was got for one token of a caller is not
/// used for another: that may have fewer rights.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CallerKey {
    /// Who calls.
    pub principal: Principal,
    /// The digest of the token that is exchanged.
    subject: Option<String>,
}

impl CallerKey {
    /// The key of a call by `principal`, who was let in with `token`.
    pub fn new(principal: &Principal, auth: ServerAuth, token: Option<&CallerToken>) -> Self {
        let subject = token.filter(|_| auth == ServerAuth::Exchange);
        let subject = subject.map(|token| random::sha256(token.expose()));
        Self { principal: principal.clone(), subject }
    }
}
