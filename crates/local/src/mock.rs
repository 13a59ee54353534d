//! Tools whose answers are part of their definition (SPEC LT-1).

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec};

use crate::responses::Responses;

/// A tool that gives the answer for its arguments, or else always the same.
pub(crate) struct MockTool {
    spec: ToolSpec,
    responses: Responses,
    /// The answer to all other arguments.
    fallback: Option<Value>,
}

impl MockTool {
    pub(crate) fn new(spec: ToolSpec, responses: Responses, fallback: Option<Value>) -> Self {
        Self { spec, responses, fallback }
    }

    fn answer(&self, args: &Value) -> Result<ToolOutput, ToolError> {
        // Most mocks have one answer, and need not look at the arguments.
        let recorded = if self.responses.is_empty() { None } else { self.responses.to(args) };
        match (recorded, &self.fallback) {
            (Some(Ok(response)), _) => Ok(ToolOutput::Value(response.clone())),
            (Some(Err(error)), _) => Err(error.to_error()),
            (None, Some(response)) => Ok(ToolOutput::Value(response.clone())),
            (None, None) => {
                let name = &self.spec.name;
                Err(ToolError::failed(format_args!(
                    "no recorded call of '{name}' with these arguments"
                )))
            }
        }
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
        Box::pin(std::future::ready(self.answer(&args)))
    }
}
