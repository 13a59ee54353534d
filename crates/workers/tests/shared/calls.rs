//! Ordinary calls: the same envelope as from a local tool, whatever the tool does.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{
    CallContext, ErrorKind, Progress, ProgressUpdate, ToolError, ToolOutput,
};

use crate::{TestServers, shared::nodes::within};

fn tools(witness: &Witness) -> Vec<Fake> {
    vec![
        Fake::echoes("echo").parameters(json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]
        })),
        Fake::fails("fail", "the fuse is blown"),
        Fake::new("panic", |_, _| async { panic!("ouch") }),
        Fake::new("impatient", |_, _| async {
            Err(ToolError::new(ErrorKind::Timeout, "Tool 'impatient' timed out after 1s"))
        }),
        Fake::waits("wait", witness),
        Fake::new("count", |_, cx| async move {
            for step in 1..=50_u32 {
                let (progress, message) = (f64::from(step), Some(format!("step {step}")));
                cx.progress.report(ProgressUpdate { progress, total: Some(50.0), message });
            }
            Ok(ToolOutput::Value(json!("counted")))
        }),
        Fake::new("who", |_, cx| async move {
            let (caller, key) = (cx.caller.as_deref(), cx.idempotency_key.as_deref());
            let trace = cx.trace.as_ref().map(|trace| trace.traceparent());
            Ok(ToolOutput::Value(json!({
                "caller": caller, "key": key, "conversation": cx.conversation.as_deref(),
                "claims": cx.claims.as_deref(), "trace": trace.map(|parent| parent[3..35].to_owned()),
                "left": cx.deadline.map(|at| at.duration_since(tokio::time::Instant::now()).as_secs()),
            })))
        }),
    ]
}

// EX-1, VA-1, RS-1, RS-2
pub(crate) async fn every_ending_comes_back_as_it_was(servers: TestServers) {
    let _worker = servers.worker("gpu", 8, tools(&Witness::default())).await;
    let gateway = servers.gateway("gpu__echo").await;
    let cases = [
        ("gpu__echo", json!({"n": 7}), None, r#"{"n":7}"#),
        ("echo", json!({"n": 8}), None, r#"{"n":8}"#),
        (
            "gpu__echo",
            json!({}),
            Some(ErrorKind::InvalidParameters),
            "Invalid parameters: missing 'n'. Required parameters: n (integer)",
        ),
        ("gpu__fail", json!({}), Some(ErrorKind::ToolError), "the fuse is blown"),
        (
            "gpu__panic",
            json!({}),
            Some(ErrorKind::Internal),
            "Tool 'panic' crashed; side effects may have happened",
        ),
        (
            "gpu__impatient",
            json!({}),
            Some(ErrorKind::Timeout),
            "Tool 'impatient' timed out after 1s",
        ),
        ("gpu__nothing", json!({}), Some(ErrorKind::NotFound), "Tool 'gpu__nothing' not found"),
    ];
    for (name, args, kind, text) in cases {
        let result = gateway.call(name, args).await;
        assert_eq!((result.error_kind(), result.text().as_str()), (kind, text), "{name}");
    }
    let result = gateway.call("gpu__echo", json!({"n": 1})).await;
    assert_eq!(result.server.as_deref(), Some("gpu"));
}

// EX-3, EX-4: cancelled at the worker, not only abandoned here.
pub(crate) async fn who_stops_waiting_stops_the_tool(servers: TestServers) {
    for how in ["deadline", "cancel", "drop"] {
        let witness = Witness::default();
        let group = format!("group-{how}");
        let _worker = servers.worker(&group, 8, tools(&witness)).await;
        let name = format!("{group}__wait");
        let gateway = servers.gateway(&name).await;
        let mut cx = CallContext::default();
        if how == "deadline" {
            cx.timeout = Some(Duration::from_secs(2));
        }
        let cancel = cx.cancel.clone();
        let call = gateway.begin(&name, json!({"secs": 600}), cx);
        within("the tool begins", witness.saw("begun")).await;
        match how {
            "deadline" => {
                let result = within("the deadline", call).await.unwrap();
                assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
                let text =
                    format!("Tool '{name}' timed out after 2s; side effects may have happened");
                assert_eq!(result.text(), text);
            }
            "cancel" => {
                cancel.cancel();
                let result = within("the cancellation", call).await.unwrap();
                assert_eq!(result.error_kind(), Some(ErrorKind::Cancelled));
            }
            _ => call.abort(),
        }
        within("the tool hears of it", witness.saw("dropped and told")).await;
    }
}

pub(crate) async fn progress_comes_in_order_and_before_the_answer(servers: TestServers) {
    let _worker = servers.worker("gpu", 8, tools(&Witness::default())).await;
    let gateway = servers.gateway("gpu__count").await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let progress = Progress::to(move |update| hears.lock().unwrap().push(update));
    let cx = CallContext { progress, ..CallContext::default() };
    let result = within("the count", gateway.begin("gpu__count", json!({}), cx)).await.unwrap();
    assert_eq!(result.text(), "counted");
    let heard = heard.lock().unwrap().clone();
    let expected = (1..=50).map(|step| ProgressUpdate {
        progress: f64::from(step),
        total: Some(50.0),
        message: Some(format!("step {step}")),
    });
    assert_eq!(heard, expected.collect::<Vec<_>>());
}

pub(crate) async fn what_surrounds_a_call_goes_along(servers: TestServers) {
    let _worker = servers.worker("gpu", 8, tools(&Witness::default())).await;
    let gateway = servers.gateway("gpu__who").await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let cx = CallContext {
        caller: Some("ada".into()),
        claims: Some(Arc::new(json!({"role": "cook"}))),
        conversation: Some("c-1".into()),
        idempotency_key: Some("k-1".into()),
        timeout: Some(Duration::from_secs(500)),
        trace: switchboard_toolcall::TraceContext::parse(parent, None).map(Arc::new),
        ..CallContext::default()
    };
    let result = within("an answer", gateway.begin("gpu__who", json!({}), cx)).await.unwrap();
    let said: Value = result.value().unwrap().into_owned();
    let left = said["left"].as_u64().unwrap();
    assert!((400..=500).contains(&left), "{said}");
    for (key, expected) in [
        ("caller", json!("ada")),
        ("claims", json!({"role": "cook"})),
        ("conversation", json!("c-1")),
        ("key", json!("k-1")),
        ("trace", json!(parent[3..35])),
    ] {
        assert_eq!(said[key], expected, "{key}");
    }
}
