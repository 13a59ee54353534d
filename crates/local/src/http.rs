//! Tools that send one HTTP request (SPEC TK-2).
//!
//! `request.rs` makes a [`HttpRequest`] of the arguments, `exchange.rs` sends it and bounds what comes back, `answer.rs` makes
//! the result of it. Neither of the latter two knows of templates: tools that make their requests in other ways use them, too.

mod answer;
mod body;
mod exchange;
mod failure;
mod fields;
mod json;
mod request;
mod url;

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec};

pub use answer::output;
pub use exchange::{HttpExchange, HttpResponse};
pub use failure::HttpFailure;
pub use request::{HttpRequest, header_name, header_value};
pub use url::{check_segment, encoded};

pub(crate) use request::RequestTemplate;

#[cfg(test)]
mod tests;

/// A tool that sends a request.
pub(crate) struct HttpTool {
    spec: ToolSpec,
    template: RequestTemplate,
    exchange: HttpExchange,
}

impl HttpTool {
    pub(crate) fn new(spec: ToolSpec, template: RequestTemplate) -> Self {
        let exchange = HttpExchange::with(template.origin());
        Self { spec, template, exchange }
    }

    async fn send(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let Value::Object(args) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let request = self.template.fill(&args)?.with_key_of(cx);
        let response = self.exchange.send(request).await;
        let response = response.map_err(|failure| failure.explain(&self.spec.name))?;
        answer::output(&self.spec.name, response)
    }
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    // At the deadline, or if the caller cancels, the executor drops this, which closes the connection.
    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.send(args, cx))
    }
}
