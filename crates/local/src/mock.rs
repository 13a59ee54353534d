//! Tools whose answer is part of their definition (SPEC LT-1).

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec};

/// A tool that always gives the same answer.
pub(crate) struct MockTool {
    spec: ToolSpec,
    response: Value,
}

impl MockTool {
    pub(crate) fn new(spec: ToolSpec, response: Value) -> Self {
        Self { spec, response }
    }
}

impl Tool for MockTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // The names only: the executor logs the values too, with the secrets among them redacted.
        let parameters: Vec<_> =
            args.as_object().into_iter().flat_map(|args| args.keys()).collect();
        tracing::debug!(tool = %self.spec.name, ?parameters, "mock answers");
        let output = ToolOutput::Value(self.response.clone());
        Box::pin(std::future::ready(Ok(output)))
    }
}
