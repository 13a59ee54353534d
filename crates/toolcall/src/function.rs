//! Async functions as tools, with the schema derived from the argument type.

use std::{future::Future, marker::PhantomData};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Annotations, BoxFuture, CallContext, IntoOutput, Tool, ToolError, ToolOutput, ToolSpec,
    numbers::whole_numbers,
};

/// Makes a tool of an async function.
///
/// The schema comes from the argument type, and the description from that type's doc comment. The function may return
/// anything that implements [`IntoOutput`], or a `Result` of it.
///
/// ```
/// use switchboard_toolcall::{tool_fn, CallContext, Tool, ToolError};
///
/// /// Waits before it answers.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Wait { secs: u64 }
///
/// let wait = tool_fn("wait", |Wait { secs }, cx: CallContext| async move {
///     tokio::select! {
///         _ = tokio::time::sleep(std::time::Duration::from_secs(secs)) => Ok("done"),
///         _ = cx.cancel.cancelled() => Err(ToolError::failed("stopped")),
///     }
/// });
/// assert_eq!(wait.spec().parameters["required"][0], "secs");
/// ```
pub fn tool_fn<A, F, Fut>(name: impl Into<String>, function: F) -> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, CallContext) -> Fut + Send + Sync,
    Fut: Future + Send,
    Fut::Output: IntoOutput,
{
    let mut parameters = schema_of::<A>();
    let description = match parameters.remove("description") {
        // Line breaks of the doc comment are joined, paragraphs kept.
        Some(Value::String(text)) => {
            text.replace("\n\n", "\r").replace('\n', " ").replace('\r', "\n\n")
        }
        _ => String::new(),
    };
    FunctionTool {
        spec: ToolSpec::new(name, description, Value::Object(parameters)),
        function,
        arguments: PhantomData,
    }
}

/// Returns the JSON Schema of `A`, self-contained and without `$schema` and `title`.
fn schema_of<A: JsonSchema>() -> serde_json::Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<A>();
    match Value::from(schema) {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // `true`: the type accepts anything.
        _ => serde_json::Map::new(),
    }
}

/// An async function with a spec; created by [`tool_fn`].
pub struct FunctionTool<A, F> {
    spec: ToolSpec,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F> FunctionTool<A, F> {
    /// Returns the tool's definition.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Sets the description.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.spec.description = description.into();
        self
    }

    /// Sets the annotations.
    #[must_use]
    pub fn annotate(mut self, annotations: Annotations) -> Self {
        self.spec.annotations = annotations;
        self
    }

    /// Changes the spec.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }
}

impl<A, F, Fut> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, CallContext) -> Fut + Send + Sync,
    Fut: Future + Send,
    Fut::Output: IntoOutput,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // For JSON Schema 3.0 is an integer, for serde it is not: so try again with 3.
            let args = A::deserialize(&args).or_else(|_| A::deserialize(whole_numbers(&args)));
            // The schema was checked; what it cannot express (a `try_from`, a custom format) fails here.
            let args = args.map_err(ToolError::invalid)?;
            (self.function)(args, cx.clone()).await.into_output()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    /// Counts to a number,
    /// slowly.
    ///
    /// It starts at one.
    #[derive(serde::Deserialize, JsonSchema)]
    struct Count {
        to: u8,
    }

    // TL-3
    #[tokio::test]
    async fn the_argument_type_says_it_all() {
        let tool = tool_fn("count", |Count { to }, _cx: CallContext| async move { Json(to) });
        let spec = tool.spec();
        assert_eq!(spec.description, "Counts to a number, slowly.\n\nIt starts at one.");
        assert_eq!(spec.parameters["type"], "object");
        assert_eq!(spec.parameters["properties"]["to"]["type"], "integer");
        assert_eq!(spec.parameters["required"][0], "to");
    }

    // TL-3, VA-2
    #[tokio::test]
    async fn what_the_schema_takes_for_an_integer_arrives_as_one() {
        let tool = tool_fn("count", |Count { to }, _cx: CallContext| async move { Json(to) });
        let cx = CallContext::default();
        let call = |args| Tool::call(&tool, args, &cx);
        assert_eq!(call(serde_json::json!({"to": 3.0})).await.unwrap().text(), "3");
        let error = call(serde_json::json!({"to": 300})).await.unwrap_err();
        assert!(error.for_model.starts_with("Invalid parameters: "), "{error}");
    }
}
