//! Who may do what: where a request comes from, whose token it bears, which tools that token may see (SPEC GW-2).

pub mod tokens;
mod hosts;
mod rate;

use std::sync::Arc;

use http::{header, request};
use switchboard_agent::Globs;

use crate::{Config, refusal::Refusal};
use hosts::Hosts;

pub use rate::{Rate, Share};
pub use tokens::{NewToken, Token, Tokens, TokensError};

/// Decides about requests.
pub struct Access {
    tokens: Arc<Tokens>,
    demands_token: bool,
    hosts: Hosts,
}

/// Who asks. Cheap to clone.
#[derive(Clone, Default)]
pub struct Caller {
    /// The name of the token, where there is one.
    pub name: Option<Arc<str>>,
    /// Which tools exist for the caller; all where unset.
    pub tools: Option<Arc<Globs>>,
}

impl Caller {
    /// Whether the tool exists for the caller.
    pub fn may_see(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.matches(tool))
    }
}

/// A request that is let in, and what it holds until it has been answered.
pub struct Admitted {
    /// Who asks.
    pub caller: Caller,
    /// The place in the token's share.
    pub share: Share,
}

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Anybody on the network could call the tools.
    #[error(
        "refusing to listen on {0} without a token: everybody who can reach it could call every tool; make one with \
         `switchboard token new --name NAME`, or listen on 127.0.0.1"
    )]
    Open(std::net::SocketAddr),
}

impl Access {
    /// The rules for a gateway that listens on `address`.
    ///
    /// # Errors
    /// It is reachable from elsewhere and there is no token.
    pub fn new(
        config: &Config,
        address: std::net::SocketAddr,
        tokens: Arc<Tokens>,
    ) -> Result<Self, AccessError> {
        let is_local = address.ip().is_loopback();
        if !is_local && tokens.is_empty() {
            return Err(AccessError::Open(address));
        }
        let demands_token = !is_local || config.require_token;
        Ok(Self { tokens, demands_token, hosts: Hosts::new(config, address) })
    }

    /// Lets a request in, or says why not.
    ///
    /// # Errors
    /// A foreign page or host, no token where one is demanded, a token that nobody knows, or a share that is used up.
    pub fn admit(&self, request: &request::Parts) -> Result<Admitted, Refusal> {
        self.hosts.check(request)?;
        match bearer(request)? {
            Some(secret) => {
                let unknown = || Refusal::Unauthorized("the token is not known".to_owned());
                let token = self.tokens.find(secret).ok_or_else(unknown)?;
                Ok(Admitted { caller: token.caller(), share: token.take_share()? })
            }
            None if self.demands_token => Err(Refusal::Unauthorized(
                "a token is needed: send it as `Authorization: Bearer TOKEN`".to_owned(),
            )),
            None => Ok(Admitted { caller: Caller::default(), share: Share::default() }),
        }
    }
}

/// The token of the request, where it has one.
fn bearer(request: &request::Parts) -> Result<Option<&str>, Refusal> {
    let Some(value) = request.headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let wrong = || {
        Refusal::Unauthorized(
            "the Authorization header is not understood: it should be `Bearer TOKEN`".to_owned(),
        )
    };
    let (scheme, secret) =
        value.to_str().ok().and_then(|value| value.trim().split_once(' ')).ok_or_else(wrong)?;
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(Some(secret.trim())),
        false => Err(wrong()),
    }
}
