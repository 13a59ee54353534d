//! An operation as a tool.

use std::sync::Arc;

use reqwest::{Url, header::HeaderMap};
use serde_json::{Map, Value};
use switchboard_local::http::{HttpExchange, output};
use switchboard_toolcall::{
    BoxFuture, CallContext, Content, Part, Tool, ToolError, ToolOutput, ToolSpec,
};

use crate::{
    hints,
    request::RequestPlan,
    send::{self, ApiSendFailure},
    sign_in::ApiSignIn,
};

/// What the tools of an API share.
pub(crate) struct ApiClient {
    pub(crate) base: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) exchange: HttpExchange,
    /// `None` if requests have no token of a sign-in.
    pub(crate) sign_in: Option<Arc<ApiSignIn>>,
}

/// A tool that sends an operation's request.
pub(crate) struct ApiTool {
    pub(crate) spec: ToolSpec,
    pub(crate) plan: RequestPlan,
    pub(crate) client: Arc<ApiClient>,
}

impl ApiTool {
    async fn send(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let Value::Object(args) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let ApiClient { base, headers, exchange, sign_in } = &*self.client;
        let request = self.plan.fill(base, headers, &args)?.with_key_of(cx);
        let asked = request.url.clone();
        let sent = match sign_in {
            Some(sign_in) => send::signed_in(sign_in, exchange, &request, &self.spec, cx).await,
            None => exchange.send(request).await.map_err(ApiSendFailure::Http),
        };
        let response = sent.map_err(|failure| self.explain(failure))?;
        let hint = hints::of_response(&self.plan, &asked, &response.headers);
        let output = match response.body.is_empty() {
            // So that a model knows that it worked.
            true => ToolOutput::Value(Value::String(response.status.to_string())),
            false => output(&self.spec.name, response)?,
        };
        Ok(match hint {
            Some(hint) => with_hint(output, hint),
            None => output,
        })
    }

    fn explain(&self, failure: ApiSendFailure) -> ToolError {
        let failure = match failure {
            ApiSendFailure::Http(failure) => failure,
            ApiSendFailure::Tool(error) => return error,
        };
        let api = self.client.sign_in.as_ref().and_then(|_| self.spec.server());
        let hint = hints::of_failure(&failure, api.map(|api| &**api));
        let error = failure.explain(&self.spec.name);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl Tool for ApiTool {
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

/// Adds a text that models read after the result.
fn with_hint(output: ToolOutput, hint: String) -> ToolOutput {
    let mut content = match output {
        ToolOutput::Content(content) => content,
        ToolOutput::Value(value) => {
            let text = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let fields = match value {
                Value::Object(_) => Map::from_iter([("structuredContent".to_owned(), value)]),
                _ => Map::new(),
            };
            Content { parts: vec![Part::text(text)], fields }
        }
    };
    content.parts.push(Part::text(hint));
    ToolOutput::Content(content)
}
