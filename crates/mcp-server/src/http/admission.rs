//! Limits on the requests of a batch, decided by the embedder.

use std::any::Any;

use ::http::request;
use switchboard_toolcall::BoxFuture;

use switchboard_mcp_wire::RpcError;

/// A slot among the requests that a caller may have at once, released when dropped.
pub type Permit = Box<dyn Any + Send>;

/// Counts the requests of a batch against the caller's limits. The first of them counts as the HTTP request itself, which
/// was admitted before.
pub trait Admission: Send + Sync {
    /// Admits one more request that came with this HTTP request.
    ///
    /// # Errors
    /// The caller is over its limit; the error is the response to that request.
    fn admit<'a>(&'a self, head: &'a request::Parts) -> BoxFuture<'a, Result<Permit, RpcError>>;
}

/// Admits everything.
pub(super) struct Unlimited;

impl Admission for Unlimited {
    fn admit<'a>(&'a self, _: &'a request::Parts) -> BoxFuture<'a, Result<Permit, RpcError>> {
        Box::pin(async { Ok(Box::new(()) as Permit) })
    }
}
