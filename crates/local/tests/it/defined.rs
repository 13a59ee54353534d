//! Tools as the config defines them.

use std::sync::Arc;

use switchboard_local::{Handlers, ToolDefinition};
use switchboard_toolcall::{
    BinaryPart, CallContext, ErrorKind, Tool, ToolError, ToolOutput, serde_json::Value,
};

/// The tool with this implementation, in TOML's inline form, whose parameters all tests share.
pub(crate) fn tool(implementation: &str) -> Arc<dyn Tool> {
    let definition = format!(
        "name = 'tried'\ndescription = 'd'\nimplementation = {implementation}\n[parameters]\n\
         properties = {{ text = {{}}, count = {{}}, path = {{}} }}"
    );
    let definition: ToolDefinition = toml::from_str(&definition).unwrap();
    definition.into_tool(&Handlers::new()).unwrap()
}

/// What the tool answers.
pub(crate) async fn output(implementation: &str, args: Value) -> Result<ToolOutput, ToolError> {
    tool(implementation).call(args, &CallContext::default()).await
}

/// The text that the tool answers.
pub(crate) async fn answer(implementation: &str, args: Value) -> String {
    let output = output(implementation, args).await;
    output.unwrap_or_else(|error| panic!("{implementation}: {error:?}")).text()
}

/// How the tool fails.
pub(crate) async fn failure(implementation: &str, args: Value) -> (ErrorKind, String) {
    let error = output(implementation, args).await.expect_err(implementation);
    (error.kind, error.for_model)
}

/// The binary that the tool answers, as kind, media type and base64.
pub(crate) async fn binary(implementation: &str, args: Value) -> (String, String, String) {
    let output = output(implementation, args).await.unwrap();
    let ToolOutput::Content(content) = output else { panic!("{output:?}") };
    let BinaryPart { kind, media_type, data } = content.parts[0].as_binary().unwrap();
    (kind.to_owned(), media_type.to_owned(), data.to_owned())
}
