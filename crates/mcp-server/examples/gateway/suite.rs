//! The tools that the conformance suite wants for the tasks extension, under its names.

use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard_mcp_wire::RpcError;
use switchboard_runtime::{
    AddError, ToolManager,
    toolcall::{
        BoxFuture, CallContext, CallId, ErrorKind, QuestionKind, ServerQuestion, ServerQuestions,
        Tool, ToolError, ToolOutput, ToolSpec,
    },
};
use switchboard_testkit::Fake;
use tokio::time::sleep;

use crate::queue::{Calls, Queued};

/// How long a job takes that must not be over before its client knows of the task.
const A_WHILE: Duration = Duration::from_secs(1);

/// Adds the tools.
pub(crate) fn add(tools: &ToolManager, calls: &Calls) -> Result<(), AddError> {
    tools.add(Fake::new("greet", |args, _| async move {
        Ok(text(format!("Hello, {}!", args["name"].as_str().unwrap_or("nobody"))))
    }))?;
    let slow = Fake::new("slow_compute", |args, _| async move {
        sleep(Duration::from_secs_f64(args["seconds"].as_f64().unwrap_or(0.0))).await;
        Ok(text(format!("computed {}", args["label"])))
    });
    tools.add(Queued::new(slow.with(may_run_twice), calls))?;
    let failing = Fake::new("failing_job", |_, _| async {
        sleep(A_WHILE).await;
        Err(ToolError::failed("the job has failed"))
    });
    tools.add(Queued::new(failing.with(may_run_twice).with(is_always_a_task), calls))?;
    let broken = Fake::new("protocol_error_job", |_, _| async {
        sleep(A_WHILE).await;
        let error = RpcError::new(RpcError::INTERNAL, "the server has crashed");
        Err(ToolError::new(ErrorKind::ToolError, "the server has crashed").caused_by(error))
    });
    tools.add(Queued::new(broken.with(may_run_twice), calls))?;
    // These ask in the middle of their work, which queued calls cannot: they run while their client waits.
    tools.add(Fake::new("confirm_delete", |_, cx| async move {
        let answers = ask(&cx, &["confirm"]).await?;
        Ok(text(answers["confirm"]["action"].to_string()))
    }))?;
    tools.add(Fake::new("multi_input", |_, cx| async move {
        let answers = ask(&cx, &["first", "second"]).await?;
        Ok(text(format!("{} answers", answers.len())))
    }))?;
    let greeting = Fake::answers("test_tool_with_task", Value::Null);
    let mut spec = greeting.with(may_run_twice).with(is_always_a_task).spec().clone();
    spec.settings.durable = true;
    tools.add(AskFirst { spec, calls: calls.clone() })
}

/// Asks for a name before its call is queued.
struct AskFirst {
    spec: ToolSpec,
    calls: Calls,
}

impl AskFirst {
    async fn name(cx: &CallContext) -> Result<String, ToolError> {
        let answers = ask(cx, &["user_name"]).await?;
        Ok(answers["user_name"]["content"]["name"].to_string())
    }
}

impl Tool for AskFirst {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(text(format!("Hello, {}!", Self::name(cx).await?))) })
    }

    fn enqueue<'a>(
        &'a self,
        _args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        Box::pin(async {
            let name = Self::name(cx).await?;
            self.calls.enqueue(&self.spec.name, cx, |_| {
                Box::pin(async move {
                    sleep(A_WHILE).await;
                    Ok(text(format!("Hello, {name}!")))
                })
            })
        })
    }
}

fn text(text: String) -> ToolOutput {
    ToolOutput::Value(text.into())
}

fn may_run_twice(spec: &mut ToolSpec) {
    spec.annotations.idempotent = Some(true);
}

fn is_always_a_task(spec: &mut ToolSpec) {
    spec.extra.insert("execution".to_owned(), json!({"taskSupport": "required"}));
}

async fn ask(cx: &CallContext, keys: &[&str]) -> Result<Map<String, Value>, ToolError> {
    let back =
        cx.caller_channel.clone().ok_or_else(|| ToolError::failed("there is nobody to ask"))?;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let question = |key: &&str| {
        let params = json!({"message": key, "requestedSchema": schema});
        ((*key).to_owned(), ServerQuestion { kind: QuestionKind::Elicit, params })
    };
    back.ask(ServerQuestions::new("suite", keys.iter().map(question).collect())).await
}
