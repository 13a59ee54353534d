//! Arguments that the config fixes (TK-4).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_runtime::{
    Config, ToolExecutor,
    toolcall::{BoxFuture, CallContext, FixedArgument, Tool, ToolError, ToolOutput, ToolSpec},
};

/// A tool that answers with what it was sent.
struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::Value(args)) })
    }
}

/// A tool that shows `format` and always gets this `zone`, which it wants to be a string.
fn clock(zone: Value) -> Arc<dyn Tool> {
    let shown = json!({
        "type": "object", "properties": {"format": {"type": "string"}}, "additionalProperties": false,
        "$defs": {"zone": {"type": "string"}},
    });
    let mut spec = ToolSpec::new("clock", "Tells the time", shown);
    let fixed = FixedArgument { value: zone, schema: json!({"$ref": "#/$defs/zone"}) };
    spec.settings.fixed.insert("zone".to_owned(), fixed);
    Arc::new(Echo(spec))
}

// TK-4: also where extra parameters fail, and whatever the caller sends.
#[tokio::test]
async fn a_fixed_argument_is_always_sent_and_recorded() {
    for strict in [false, true] {
        let config = Config { strict, ..Config::default() };
        let executor = ToolExecutor::builder().config(config).build();
        executor.tools().add_shared(clock(json!("Asia/Tokyo"))).unwrap();
        for (given, sent) in [
            (json!({}), json!({"zone": "Asia/Tokyo"})),
            (json!({"format": "%H"}), json!({"format": "%H", "zone": "Asia/Tokyo"})),
            (json!({"zone": "Europe/Paris"}), json!({"zone": "Asia/Tokyo"})),
            (json!({"zone": 5}), json!({"zone": "Asia/Tokyo"})),
        ] {
            let text = executor.call("clock", given.clone()).await.text();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), sent, "{given}");
            let newest = executor.history().recent(1).await.unwrap().remove(0);
            let recorded: Value = serde_json::from_str(&newest.start.arguments).unwrap();
            assert_eq!(recorded, sent, "{given}");
        }
        let wrong = executor.call("clock", json!({"format": 5})).await.text();
        assert!(wrong.contains("'format' must be string, got integer"), "{wrong}");
    }
}

// TK-4
#[tokio::test]
async fn a_fixed_value_that_the_tool_does_not_take_is_refused_when_it_is_added() {
    let executor = ToolExecutor::default();
    let error = executor.tools().add_shared(clock(json!(9))).unwrap_err();
    let text = "tool `clock`: `arguments`: the fixed values do not fit `parameters`: 'zone' must be string, got integer";
    assert_eq!(error.to_string(), text);
}
