//! Tools, arguments and schemas that mean harm leave the executor unharmed.

use std::{future::Future, pin::Pin, sync::mpsc, task::Poll, time::Duration};

use serde_json::{Value, json};
use switchboard_runtime::{
    ServerSettings, ToolExecutor,
    toolcall::{CallContext, ErrorKind, ToolCall, ToolError, ToolOutput},
};
use switchboard_testkit::{Fake, Witness};

use super::{executor, recorded};

/// After all of it, the executor still works.
async fn still_works(executor: &ToolExecutor) {
    executor.tools().add(Fake::answers("after", json!("fine"))).unwrap();
    assert_eq!(executor.call("after", json!({})).await.text(), "fine");
}

// EX-1
#[tokio::test]
async fn a_panic_in_a_poll_is_a_result() {
    let executor = executor([
        Fake::new("text", |_, _| async { panic!("boom") }),
        Fake::new("formatted", |_, _| async { panic!("boom {}", 1) }),
        Fake::new("value", |_, _| async { std::panic::panic_any(7) }),
        Fake::new("at once", |_, _| -> std::future::Ready<_> { panic!("before any future") })
            .with(|spec| spec.name = "at_once".into()),
    ]);
    for name in ["text", "formatted", "value", "at_once"] {
        let result = executor.call(name, json!({})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Internal));
        assert_eq!(result.text(), format!("Tool '{name}' crashed; side effects may have happened"));
    }
    still_works(&executor).await;
}

/// Panics when it is dropped; polls to `poll`.
struct Bomb(Poll<()>);

impl Future for Bomb {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        self.0.map(|()| Ok(ToolOutput::Value(json!("done"))))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("boom in drop");
    }
}

// EX-1
#[tokio::test(start_paused = true)]
async fn a_panic_in_drop_is_survived() {
    let executor = executor([
        Fake::new("pending", |_, _| Bomb(Poll::Pending)),
        Fake::new("ready", |_, _| Bomb(Poll::Ready(()))),
    ]);
    // At the deadline the future is dropped, and panics; the caller has its answer.
    let result = executor.call("pending", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    // After the answer: tokio drops the future before it hands the answer over.
    let result = executor.call("ready", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Internal), "{result:?}");
    still_works(&executor).await;
    assert_eq!(recorded(&executor).await.len(), 3);
}

// EX-1, EX-3: a tool that blocks its thread and hears nothing cannot keep its caller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_cannot_keep_its_caller() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let blocked = std::sync::Arc::new(blocked);
    let executor = executor([Fake::new("block", move |_, _| {
        let blocked = blocked.clone();
        async move {
            // Blocks the worker thread until the test is over.
            let _ = blocked.lock().unwrap().recv();
            Ok(ToolOutput::Value(Value::Null))
        }
    })]);
    let cx = CallContext::default().with_timeout(Duration::from_millis(50));
    let run = executor.clone();
    // From a task, as servers call: block_on's thread would not need the worker.
    let result =
        tokio::spawn(
            async move { run.execute(ToolCall::new("block", Default::default()), &cx).await },
        );
    let result = result.await.unwrap();
    assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    assert_eq!(result.text(), "Tool 'block' timed out after 0.05s; side effects may have happened");
    drop(release);
}

// EX-1, EX-4: a tool that hears the token and goes on regardless is dropped.
#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_cancellation_is_dropped() {
    let witness = Witness::default();
    let seen = witness.clone();
    let executor = executor([Fake::new("stubborn", move |_, cx| {
        let presence = seen.begin(cx.cancel.clone());
        async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let _ = &presence;
            }
        }
    })]);
    let result = executor.call("stubborn", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    witness.saw("dropped and told").await;
}

// RS-5: far more than anybody reads.
#[tokio::test]
async fn a_hundred_megabytes_are_cut_and_kept() {
    let executor = executor([Fake::new("flood", |_, _| async {
        Ok(ToolOutput::Value(Value::String("0123456789".repeat(10_000_000))))
    })]);
    let result = executor.call("flood", json!({})).await;
    assert!(result.truncated);
    assert!(result.text().chars().count() <= 50_300);
    let artifact = &result.artifacts[0];
    assert_eq!(artifact.size, 100_000_000);
    let kept = executor.artifacts().get(&artifact.id).await.unwrap().unwrap();
    assert_eq!(kept.bytes.len(), 100_000_000);
    still_works(&executor).await;
}

// EX-1: an error can be as long as an answer.
#[tokio::test]
async fn a_huge_error_is_cut() {
    let executor = executor([Fake::new("rant", |_, _| async {
        Err(ToolError::failed("no! ".repeat(1_000_000)))
    })]);
    let result = executor.call("rant", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::ToolError));
    assert!(result.text().chars().count() <= 50_300);
    assert_eq!(result.artifacts[0].size, 4_000_000);
}

// VA-1: the expansion of references is bounded before anything is compiled.
#[tokio::test]
async fn doubled_references_are_refused_at_once() {
    let mut defs = serde_json::Map::new();
    for level in 0..64 {
        let next = json!({"$ref": format!("#/$defs/level{}", level + 1)});
        defs.insert(format!("level{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert("level64".into(), json!({"type": "object"}));
    let schema = json!({"type": "object", "$ref": "#/$defs/level0", "$defs": defs});
    let manager = ToolExecutor::default();
    let error = manager.tools().add(Fake::echoes("bomb").parameters(schema)).unwrap_err();
    assert!(error.to_string().contains("expand to more than"), "{error}");
}

// VA-1: recursion that doubles with each level of the arguments.
#[tokio::test]
async fn doubling_recursion_is_bounded_by_depth() {
    let node = json!({"type": "object", "properties": {"next": {"allOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}]}}});
    let schema = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    let executor = executor([Fake::answers("tree", json!("ok")).parameters(schema)]);
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"next": inner}));
    assert!(executor.call("tree", json!({"root": nested(10)})).await.is_success());
    let result = executor.call("tree", json!({"root": nested(100)})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::InvalidParameters));
    assert!(result.text().contains("nested too deeply"), "{}", result.text());
}

// VA-1, VA-2: a pattern that would backtrack for ever is a problem of its parameter.
#[tokio::test]
async fn a_regex_bomb_ends_as_a_problem_of_its_parameter() {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string", "pattern": r"^(a|aa)+\1$"}
    }});
    let executor = executor([Fake::answers("match", json!("ok")).parameters(schema)]);
    let result = executor.call("match", json!({"text": "a".repeat(40) + "b"})).await;
    let expected =
        "Invalid parameters: 'text' could not be checked: its pattern costs too much on this value";
    assert_eq!(result.text(), expected);
    let plain = json!({"type": "object", "properties": {"text": {"pattern": "(x{1000}){1000}"}}});
    let error = executor.tools().add(Fake::echoes("huge").parameters(plain)).unwrap_err();
    assert!(error.to_string().contains("huge"), "{error}");
}

// VA-1: no schema reaches out to the network or the file system.
#[tokio::test]
async fn references_to_elsewhere_are_refused() {
    let executor = ToolExecutor::default();
    for reference in
        ["http://127.0.0.1:1/schema.json", "file:///etc/hostname", "https://x.example/a#/b"]
    {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
        let error = executor.tools().add(Fake::echoes("far").parameters(schema)).unwrap_err();
        assert!(error.to_string().starts_with("tool `far` has an unusable schema"), "{error}");
    }
}

/// An executor with a server whose tool `slow` has a schema that is accepted and takes seconds to check a list of hundreds, and with a local tool `quick`.
fn slow_to_check() -> ToolExecutor {
    let mut defs = serde_json::Map::new();
    for level in 0..14 {
        let next = json!({"$ref": format!("#/$defs/level{}", level + 1)});
        defs.insert(format!("level{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert("level14".into(), json!({"type": "integer"}));
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/level0"}});
    let schema = json!({"type": "object", "properties": {"list": list}, "$defs": defs});
    let executor = executor([Fake::answers("quick", json!("done"))]);
    executor.tools().add_server("s", ServerSettings::default()).unwrap();
    let slow = Fake::answers("slow", json!("ran")).parameters(schema).of_server("s");
    assert_eq!(executor.tools().set_server_tools("s", vec![slow.shared()]).len(), 0);
    executor
}

fn list(length: usize) -> Value {
    json!({"list": vec![1; length]})
}

// EX-3, VA-1: a check that takes long holds up neither other calls nor the deadline, on a runtime with one thread.
#[tokio::test(start_paused = true)]
async fn a_long_check_keeps_its_deadline_and_holds_up_nobody() {
    let executor = slow_to_check();
    let limit = Duration::from_secs(2);
    let call = |cx: CallContext| {
        let executor = executor.clone();
        let args = super::object(list(400));
        tokio::spawn(async move { executor.execute(ToolCall::new("s__slow", args), &cx).await })
    };
    let first = call(CallContext::default().with_timeout(limit));
    // More than may be checked at once: these wait for a place, within their deadlines.
    let waiting: Vec<_> =
        (0..64).map(|_| call(CallContext::default().with_timeout(limit))).collect();
    let cancelled = CallContext::default();
    let cancel = cancelled.cancel.clone();
    let last = call(cancelled);
    tokio::task::yield_now().await;
    assert_eq!(executor.call("quick", json!({})).await.text(), "done");
    assert!(!first.is_finished(), "it is still being checked");
    cancel.cancel();
    assert_eq!(last.await.unwrap().error_kind(), Some(ErrorKind::Cancelled));
    tokio::time::advance(limit).await;
    for call in std::iter::once(first).chain(waiting) {
        let result = call.await.unwrap();
        assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
        assert_eq!(result.text(), "Tool 's__slow' timed out after 2s");
        assert_eq!(result.elapsed, limit);
    }
    still_works(&executor).await;
}

// VA-1: what such a check finds reaches the caller as usual.
#[tokio::test]
async fn a_long_check_says_what_any_other_says() {
    let executor = slow_to_check();
    assert_eq!(executor.call("s__slow", list(7)).await.text(), "ran");
    let result = executor.call("s__slow", json!({"list": [1, 1, 1, 1, 1, 1, "x"]})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::InvalidParameters));
    assert!(result.text().contains("'list[6]' must be integer, got string"), "{}", result.text());
}

// TL-2: a tool whose schema takes more than its server may have is skipped, the others stay.
#[tokio::test]
async fn a_server_cannot_list_more_than_its_budget() {
    let executor = slow_to_check();
    let pattern = |name: &str, pattern: String| {
        let schema =
            json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}});
        Fake::answers(name, json!("ran")).parameters(schema).of_server("s").shared()
    };
    let hostile = (0..1000).map(|n| pattern(&format!("t{n}"), format!("^(a|b{n}){{1,1000}}$")));
    let plain = Fake::answers("plain", json!("ran")).of_server("s").shared();
    let skipped_tools = executor.tools().set_server_tools("s", hostile.chain([plain]).collect());
    assert!((700..990).contains(&skipped_tools.len()), "{}", skipped_tools.len());
    let reason = skipped_tools[0].to_string();
    assert!(reason.contains("more than 16777216 bytes of compiled patterns in all"), "{reason}");
    assert_eq!(executor.call("s__plain", json!({})).await.text(), "ran");
    assert_eq!(executor.call("s__t0", json!({"x": "ab0a"})).await.text(), "ran");
    assert!(!executor.call("s__t0", json!({"x": "c"})).await.is_success());
}

// RC-1: what never runs does not fill the disk.
#[tokio::test]
async fn refused_calls_leave_no_large_arguments_in_the_record() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "text": {}}});
    let executor = executor([Fake::echoes("echo").parameters(schema)]);
    let text = "x".repeat(100_000);
    let recorded = async |name: &str, args: Value| {
        executor.call(name, args).await;
        executor.history().recent(1).await.unwrap().remove(0).start.arguments.clone()
    };
    let refused = [
        ("nobody", json!({"text": text})),
        ("server__nobody", json!({"text": text})),
        ("echo", json!({"n": "one", "text": text})),
    ];
    for (name, args) in refused {
        let expected = format!(r#"{{"[omitted]":"{} bytes"}}"#, args.to_string().len());
        assert_eq!(recorded(name, args).await, expected);
    }
    for (name, args) in [("echo", json!({"n": 1, "text": text})), ("nobody", json!({"a": 1}))] {
        assert_eq!(recorded(name, args.clone()).await, args.to_string());
    }
}
