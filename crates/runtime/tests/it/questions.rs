//! Questions that a tool asks in the middle of its call.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{
        BoxFuture, CallContext, CallerChannel, QuestionKind, ServerQuestions, Tool, ToolCall,
        ToolError, ToolOutput, ToolSpec,
    },
};
use tokio::time::sleep;

/// Somebody who takes ten minutes to answer.
#[derive(Debug)]
struct Slow;

impl CallerChannel for Slow {
    fn answers(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::Elicit
    }

    fn ask(&self, _: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async {
            sleep(Duration::from_secs(600)).await;
            Ok(Map::new())
        })
    }
}

/// A tool that works for a second, asks, waits for a person to do something, and works for another second.
struct Asks(ToolSpec);

impl Tool for Asks {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            sleep(Duration::from_secs(1)).await;
            if let Some(back) = &cx.caller_channel {
                back.ask(ServerQuestions::elicit("forms", "q", json!({}))).await?;
                let _pause = back.pause();
                sleep(Duration::from_secs(100)).await;
            }
            sleep(Duration::from_secs(1)).await;
            Ok(ToolOutput::Value(json!("done")))
        })
    }
}

async fn call(cx: &CallContext) -> Value {
    let executor = ToolExecutor::default();
    let spec = ToolSpec::new("asks", "Asks.", json!({"type": "object"}));
    executor.tools().add_shared(Arc::new(Asks(spec))).expect("a tool");
    let result = executor.execute(ToolCall::new("asks", Map::new()), cx).await;
    serde_json::to_value(&result).expect("an envelope")
}

// EX-7
#[tokio::test(start_paused = true)]
async fn the_time_that_somebody_takes_to_answer_is_not_the_tools() {
    let back: Arc<dyn CallerChannel> = Arc::new(Slow);
    let cx = CallContext { caller_channel: Some(back), ..CallContext::default() };
    // The time limit, of 30 seconds by default, does not run meanwhile.
    let answered = call(&cx).await;
    assert_eq!(answered["success"], true, "{answered}");
    assert_eq!(answered["execution_time_ms"].to_string(), "2000.0");
    assert_eq!(answered["waited_ms"].to_string(), "700000.0");
    // Nor does the caller's own.
    let answered = call(&cx.with_timeout(Duration::from_secs(5))).await;
    assert_eq!(answered["execution_time_ms"].to_string(), "2000.0", "{answered}");
    let unasked = call(&CallContext::default()).await;
    assert!(unasked.get("waited_ms").is_none(), "{unasked}");
}
