//! The one trait that every tool implements.

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::Value;

use crate::{CallContext, ToolError, ToolOutput, ToolSpec};

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
}
