//! Held calls, and who decides about them.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod exact;
mod four_eyes;
mod folder;
mod races;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_approvals::{ApprovalDecision, ApprovalQueue, Decider, PendingApproval, RuleScope};
use switchboard_runtime::{
    PolicyConfig, RulePolicy, ToolExecutor,
    toolcall::{CallContext, ErrorKind, HumanDuration, ToolCall, ToolResult},
};
use switchboard_testkit::Fake;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// An executor whose every call waits for a person, and the queue it waits in.
struct TestGateway {
    executor: ToolExecutor,
    queue: Arc<ApprovalQueue>,
    folder: TempDir,
}

impl TestGateway {
    fn new() -> Self {
        Self::with(PolicyConfig::default())
    }

    /// As [`new`](Self::new), asked in another way.
    fn with(config: PolicyConfig) -> Self {
        let folder = TempDir::new().unwrap();
        let queue = Arc::new(ApprovalQueue::open(folder.path().join("approvals")));
        let within = HumanDuration(Duration::from_secs(300));
        let config = PolicyConfig { ask: vec!["*".to_owned()], ask_timeout: within, ..config };
        let executor = ToolExecutor::builder()
            .policy(RulePolicy::new(config).unwrap())
            .approver(queue.clone())
            .build();
        for name in ["act", "other"] {
            executor.tools().add(Fake::echoes(name)).unwrap();
        }
        Self { executor, queue, folder }
    }

    /// The same queue, as another process opens it.
    fn elsewhere(&self) -> ApprovalQueue {
        ApprovalQueue::open(self.folder.path().join("approvals"))
    }

    fn call(&self, name: &str, args: Value) -> JoinHandle<ToolResult> {
        self.call_as(None, name, args)
    }

    fn call_as(&self, caller: Option<&str>, name: &str, args: Value) -> JoinHandle<ToolResult> {
        let (executor, name) = (self.executor.clone(), name.to_owned());
        let cx = CallContext { caller: caller.map(Into::into), ..Default::default() };
        let args = args.as_object().unwrap().clone();
        tokio::spawn(async move { executor.execute(ToolCall::new(name, args), &cx).await })
    }

    /// Calls a tool and returns its question when it waits.
    async fn hold(&self, name: &str, args: Value) -> (PendingApproval, JoinHandle<ToolResult>) {
        self.hold_for(None, name, args).await
    }

    async fn hold_for(
        &self,
        caller: Option<&str>,
        name: &str,
        args: Value,
    ) -> (PendingApproval, JoinHandle<ToolResult>) {
        let before: Vec<_> = self.queue.pending().unwrap().into_iter().map(|one| one.id).collect();
        let called = self.call_as(caller, name, args);
        loop {
            let new = self.queue.pending().unwrap().into_iter();
            if let Some(pending) = new.into_iter().find(|one| !before.contains(&one.id)) {
                return (pending, called);
            }
            tokio::task::yield_now().await;
        }
    }

    /// What comes of a call that is allowed only where a rule allows it.
    async fn is_allowed(&self, name: &str, args: Value) -> bool {
        let called = self.call(name, args);
        loop {
            if called.is_finished() {
                return called.await.unwrap().is_success();
            }
            if let Some(pending) = self.queue.pending().unwrap().first() {
                self.queue.decide(&pending.id, no()).unwrap();
                assert_eq!(called.await.unwrap().error_kind(), Some(ErrorKind::Denied));
                return false;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn yes() -> ApprovalDecision {
    let decider = Decider::Named("ada".to_owned());
    ApprovalDecision { allow: true, by: "ada".to_owned(), decider, reason: None, remember: None }
}

fn no() -> ApprovalDecision {
    ApprovalDecision { allow: false, ..yes() }
}

fn always(remember: RuleScope) -> ApprovalDecision {
    ApprovalDecision { remember: Some(remember), ..yes() }
}

#[tokio::test(start_paused = true)]
async fn another_process_can_decide() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({"a": 1})).await;
    assert_eq!((pending.tool.as_str(), pending.arguments.get()), ("act", r#"{"a":1}"#));
    let elsewhere = gateway.elsewhere();
    assert_eq!(elsewhere.pending().unwrap().len(), 1);
    assert_eq!(elsewhere.complete(&pending.id[..4]).unwrap(), pending.id);
    elsewhere.decide(&pending.id, yes()).unwrap();
    assert!(elsewhere.pending().unwrap().is_empty(), "it is decided, seen or not");
    assert!(called.await.unwrap().is_success());
}

// If nobody decides in time the call fails, and later decisions are refused.
#[tokio::test(start_paused = true)]
async fn an_approval_expires() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    let result = called.await.unwrap();
    assert_eq!(result.text(), "Tool 'act' was not run: nobody allowed it within 5m");
    let error = gateway.elsewhere().decide(&pending.id, yes()).unwrap_err().to_string();
    assert_eq!(error, format!("approval '{}' has expired", pending.id));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_withdraws_its_approval() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    called.abort();
    assert!(called.await.is_err());
    assert!(gateway.elsewhere().pending().unwrap().is_empty());
    let error = gateway.queue.decide(&pending.id, yes()).unwrap_err().to_string();
    assert!(error.contains("the call ended before"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn wrong_input_is_an_error() {
    let gateway = TestGateway::new();
    let (pending, _called) = gateway.hold("act", json!({})).await;
    let forbid = ApprovalDecision { allow: false, ..always(RuleScope::Tool) };
    let error = gateway.queue.decide(&pending.id, forbid).unwrap_err().to_string();
    assert!(error.contains("[policy] deny"), "{error}");
    for id in ["", "nobody22", "../rules", "toolongtobeone"] {
        let error = gateway.queue.decide(id, yes()).unwrap_err().to_string();
        assert_eq!(error, format!("no call waits for approval '{id}'"));
    }
    let error = gateway.queue.forget("nobody22").unwrap_err().to_string();
    assert_eq!(error, "there is no rule 'nobody22'");
    let error = gateway.queue.complete("").unwrap_err().to_string();
    assert_eq!(error, "no call waits for approval ''", "it could be the one that waits");
    // Of more ids than there are letters, two begin with the same.
    let mut begun = std::collections::HashSet::from([pending.id[..1].to_owned()]);
    let twice = loop {
        let (pending, _called) = gateway.hold("act", json!({})).await;
        if !begun.insert(pending.id[..1].to_owned()) {
            break pending.id;
        }
    };
    let error = gateway.queue.complete(&twice[..1]).unwrap_err().to_string();
    assert!(error.contains("several") && error.contains(&twice), "{error}");
}
