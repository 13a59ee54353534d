//! `math_eval`: evaluates an expression as mathjs would (SPEC LT-3).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Tool, ToolError, tool_fn};

/// Evaluates a mathematical expression: arithmetic, functions, percentages, complex numbers, matrices, units.
#[derive(Deserialize, JsonSchema)]
struct MathArguments {
    /// The expression, in mathjs syntax: "2 + 3 * 4", "sqrt(16)", "200 + 10%", "2 inch to cm", "[1, 2; 3, 4] * 2".
    expression: String,
}

/// The tool `math_eval`.
pub fn tool() -> Arc<dyn Tool> {
    let tool = tool_fn("math_eval", |arguments: MathArguments, _cx: CallContext| {
        evaluate(arguments.expression)
    });
    Arc::new(tool.annotate(Annotations::READ_ONLY))
}

async fn evaluate(expression: String) -> Result<Value, ToolError> {
    // The engine's budget ends a hostile expression within a fraction of a second, which is too long for
    // a thread that serves other calls and keeps the deadline.
    let answer = tokio::task::spawn_blocking(move || switchboard_math::evaluate(&expression));
    let answer = answer.await.map_err(|error| {
        ToolError::new(ErrorKind::Internal, "the evaluation was aborted").caused_by(error)
    })?;
    answer.map(|result| json!({"result": result})).map_err(ToolError::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn call(expression: &str) -> Result<String, ToolError> {
        let args = json!({"expression": expression});
        let output = tool().call(args, &CallContext::default()).await?;
        Ok(output.text())
    }

    #[tokio::test]
    async fn results_and_errors_come_through() {
        // LT-3
        assert_eq!(call("2+2").await.unwrap(), r#"{"result":4}"#);
        assert_eq!(call("2 inch to cm").await.unwrap(), r#"{"result":"5.08 cm"}"#);
        // What the parameter's description promises.
        for expression in ["2 + 3 * 4", "sqrt(16)", "200 + 10%", "[1, 2; 3, 4] * 2"] {
            call(expression).await.unwrap();
        }
        let error = call("2 +").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ToolError);
        assert!(!error.for_model.is_empty());
    }
}
