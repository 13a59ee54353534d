//! The one trait that every tool implements.

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::Value;

use crate::{CallContext, CallId, ToolError, ToolOutput, ToolSpec};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something a model can ask us to do.
///
/// Arguments already match the schema and policy has said yes.
/// Stop early when `cx.cancel` fires; at the deadline the future is dropped.
pub trait Tool: Send + Sync {
    /// What is known of the tool before it is called.
    fn spec(&self) -> &ToolSpec;

    /// Does it.
    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Queues the call, so that it is certain to be run whether or not the caller waits. Returns the id under which it
    /// can be asked after: the call's own, or an earlier one's if the idempotency key was used for the same before.
    ///
    /// Only tools with `settings.durable` are asked. The queue owns the keys of its calls.
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
