//! The one trait that every tool implements.

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::Value;

use crate::{CallContext, CallId, ToolError, ToolOutput, ToolSpec};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something a model can call.
///
/// Arguments match the schema, and the policy has allowed the call. Stop early when `cx.cancel` fires; at the deadline
/// the future is dropped.
pub trait Tool: Send + Sync {
    /// Returns the tool's definition.
    fn spec(&self) -> &ToolSpec;

    /// Runs the tool.
    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Queues the call, so that it runs whether or not the caller waits. Returns the id to look it up by: the call's
    /// own, or an earlier one's if the idempotency key was used for the same call before.
    ///
    /// Only called if `settings.durable` is set. The queue stores the keys of its calls.
    fn enqueue<'a>(
        &'a self,
        _args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::not_durable(&self.spec().name))))
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).call(args, cx)
    }

    fn enqueue<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        (**self).enqueue(args, cx)
    }
}
