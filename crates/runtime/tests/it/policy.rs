//! What may run.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_runtime::{
    Policy, PolicyConfig, RegisteredTool, RulePolicy, ServerSettings, ToolExecutor, Verdict, Wrap,
    policy::Answer,
    toolcall::{CallContext, ErrorKind, ToolCall},
};
use switchboard_testkit::Fake;

/// Calls each of four tools under these rules: `None` where it ran, else what was said.
async fn judged(config: PolicyConfig) -> Vec<Option<String>> {
    let executor = ToolExecutor::builder().policy(RulePolicy::new(config).unwrap()).build();
    let tools = executor.tools();
    tools
        .add_server("fs", ServerSettings { prefix: Some(String::new()), ..Default::default() })
        .unwrap();
    tools.add(Fake::answers("read", json!(1)).read_only()).unwrap();
    tools.add(Fake::answers("write", json!(1))).unwrap();
    let delete = Fake::answers("delete_all", json!(1)).of_server("fs").shared();
    tools.set_server_tools("fs", vec![delete]);
    let mut said = Vec::new();
    for name in ["read", "write", "delete_all", "fs__delete_all"] {
        let result = executor.call(name, json!({})).await;
        assert!(matches!(result.error_kind(), None | Some(ErrorKind::Denied)));
        said.push(result.outcome.err().map(|error| error.for_model));
    }
    said
}

fn rules(allow: &[&str], deny: &[&str], read_only: bool) -> PolicyConfig {
    let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
    PolicyConfig { allow: owned(allow), deny: owned(deny), read_only, ..Default::default() }
}

fn denied(name: &str, rule: &str) -> Option<String> {
    Some(format!("Tool '{name}' is denied by policy: {rule}"))
}

// EX-2
#[tokio::test]
async fn each_rule_is_named_in_its_denial() {
    assert_eq!(judged(PolicyConfig::default()).await, [None, None, None, None]);

    // A rule for the full name meets the tool under its bare name too.
    let deny = denied("delete_all", "deny \"*__delete_*\"");
    let rule = rules(&["*"], &["nothing", "*__delete_*"], false);
    assert_eq!(judged(rule).await, [None, None, deny.clone(), deny]);

    let rule = "no match in allow [\"re*\", \"fs__*\"]";
    assert_eq!(
        judged(rules(&["re*", "fs__*"], &[], false)).await,
        [None, denied("write", rule), None, None]
    );

    let rule = "read_only, and the tool is not annotated as read-only";
    let (write, delete) = (denied("write", rule), denied("delete_all", rule));
    assert_eq!(judged(rules(&["*"], &[], true)).await, [None, write, delete.clone(), delete]);

    let all: Vec<_> = judged(rules(&[], &[], false)).await.into_iter().flatten().collect();
    assert_eq!(all.len(), 4, "an empty allow list allows nothing");
}

#[test]
fn a_glob_that_is_none_is_refused() {
    let error = RulePolicy::new(rules(&["["], &[], false)).err().unwrap();
    assert!(error.to_string().contains('['), "{error}");
}

/// A policy that has lost its mind.
struct Lost(fn() -> Answer<'static>);

impl Policy for Lost {
    fn check<'a>(&'a self, _: &'a RegisteredTool, _: &'a Value, _: &'a CallContext) -> Answer<'a> {
        (self.0)()
    }
}

// EX-1: when policy cannot answer, the answer is no.
#[tokio::test]
async fn a_policy_that_cannot_answer_means_no() {
    let broken: [(fn() -> Answer<'static>, _); 2] = [
        (|| Answer::Later(Box::pin(async { Err("nobody home".into()) })), ErrorKind::Denied),
        (|| panic!("policy bug"), ErrorKind::Internal),
    ];
    for (answer, kind) in broken {
        let executor = ToolExecutor::builder().policy(Lost(answer)).build();
        executor.tools().add(Fake::new("never", |_, _| async { unreachable!("denied") })).unwrap();
        assert_eq!(executor.call("never", json!({})).await.error_kind(), Some(kind));
    }
}

// EX-3, EX-4: a policy that is asked and never answers keeps nobody past the deadline, and nothing has run.
#[tokio::test(start_paused = true)]
async fn a_policy_that_never_answers_keeps_the_deadline() {
    let executor = ToolExecutor::builder()
        .policy(Lost(|| Answer::Later(Box::pin(std::future::pending()))))
        .build();
    executor.tools().add(Fake::new("never", |_, _| async { unreachable!("not allowed") })).unwrap();
    let result = executor.call("never", json!({})).await;
    assert_eq!(result.text(), "Tool 'never' timed out after 30s");
    let cx = CallContext::default();
    cx.cancel.cancel();
    let result = executor.execute(ToolCall::new("never", Default::default()), &cx).await;
    assert_eq!(result.text(), "Tool 'never' was cancelled");
}

#[test]
fn a_name_alone_is_judged_too() {
    let judge = |config, names: &[&str]| RulePolicy::new(config).unwrap().judge_names(names);
    let deny = Verdict::Deny("deny \"*__delete_*\"".to_owned());
    let rule = || rules(&["*"], &["*__delete_*"], false);
    assert_eq!(judge(rule(), &["fs__delete_all"]), deny);
    assert_eq!(judge(rule(), &["delete_all", "fs__delete_all"]), deny);
    assert_eq!(judge(rule(), &["delete_all"]), Verdict::Allow);
    // Nobody can say that it only reads.
    assert!(matches!(judge(rules(&["*"], &[], true), &["read"]), Verdict::Deny(_)));
}

#[tokio::test]
async fn tools_can_be_wrapped_as_they_are_added() {
    let wrap: Wrap = Arc::new(|name, tool| match name {
        "fs__read" => Fake::answers("read", json!("in its place")).of_server("fs").shared(),
        _ => tool,
    });
    let executor = ToolExecutor::builder().wrap_tools(wrap).build();
    executor.tools().add_server("fs", ServerSettings::default()).unwrap();
    let read = Fake::answers("read", json!("real")).of_server("fs").shared();
    executor.tools().set_server_tools("fs", vec![read]);
    executor.tools().add(Fake::answers("write", json!("real"))).unwrap();
    for (name, answer) in
        [("fs__read", "in its place"), ("read", "in its place"), ("write", "real")]
    {
        assert_eq!(executor.call(name, json!({})).await.text(), answer);
    }
}
