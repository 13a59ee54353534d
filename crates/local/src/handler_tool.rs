//! A defined tool that a registered handler answers (SPEC LT-2).

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec};

use crate::{HandlerKind, Handlers};

/// A tool with its own spec and a handler that does the work.
pub(crate) struct HandlerTool {
    spec: ToolSpec,
    kind: HandlerKind,
    handler: String,
    handlers: Handlers,
}

impl HandlerTool {
    pub(crate) fn new(
        spec: ToolSpec,
        kind: HandlerKind,
        handler: &str,
        handlers: Handlers,
    ) -> Self {
        Self { spec, kind, handler: handler.to_owned(), handlers }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let handler = self
            .handlers
            .lookup(self.kind, &self.handler)
            .ok_or_else(|| self.kind.not_found(&self.handler))?;
        let answer = handler(args, cx.clone()).await;
        answer.map_err(|error| self.under_our_name(error))
    }

    /// A handler that is a tool speaks of itself by its own name (`Tool 'search_web' is unavailable: …`);
    /// callers know it by ours.
    fn under_our_name(&self, mut error: ToolError) -> ToolError {
        let theirs = format!("Tool '{}' ", self.handler);
        if let Some(rest) = error.for_model.strip_prefix(&theirs) {
            error.for_model = format!("Tool '{}' {rest}", self.spec.name);
        }
        error
    }
}

impl Tool for HandlerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(args, cx))
    }
}
