//! `echo`: gives back what it was given (SPEC LT-3).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec,
};

/// The tool `echo`.
pub fn tool() -> Arc<dyn Tool> {
    let parameters = json!({"type": "object", "additionalProperties": true});
    let description = "Gives back the parameters it was called with. Takes any parameters.";
    let spec = ToolSpec {
        annotations: Annotations::READ_ONLY,
        ..ToolSpec::new("echo", description, parameters)
    };
    Arc::new(Echo { spec })
}

// Not a `tool_fn`: going through an argument type may rewrite numbers such as `-0`.
struct Echo {
    spec: ToolSpec,
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let answer = serde_json::Map::from_iter([("echo".to_owned(), args)]);
        let output = ToolOutput::Value(Value::Object(answer));
        Box::pin(std::future::ready(Ok(output)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_back_is_what_was_sent() {
        // LT-3
        for text in [
            r#"{"z":1,"a":{"y":[true,null],"b":"ü"}}"#,
            r#"{"big":12345678901234567890123,"one":1.0,"zero":-0,"small":1e-400}"#,
            "{}",
        ] {
            let args = serde_json::from_str(text).unwrap();
            let output = tool().call(args, &CallContext::default()).await.unwrap();
            assert_eq!(output.text(), format!(r#"{{"echo":{text}}}"#));
        }
    }
}
