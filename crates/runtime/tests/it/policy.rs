//! What may run.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_runtime::{
    Policy, PolicyConfig, RegisteredTool, RulePolicy, ServerSettings, SwapPolicy, ToolExecutor,
    ToolWrapper, Verdict,
    policy::PolicyCheck,
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

/// Calls a server's tool under each name that it has, with the server shown in this way.
async fn judged_by_every_name(config: &PolicyConfig, prefix: Option<&str>) -> Vec<Option<String>> {
    let executor = ToolExecutor::builder().policy(RulePolicy::new(config.clone()).unwrap()).build();
    let tools = executor.tools();
    let prefix = prefix.map(str::to_owned);
    tools.add_server("files", ServerSettings { prefix, ..Default::default() }).unwrap();
    let delete = Fake::answers("delete_file", json!(1)).of_server("files").shared();
    tools.set_server_tools("files", vec![delete]);
    let shown = tools.all()[0].name().to_string();
    let mut said = Vec::new();
    for name in ["delete_file", "files__delete_file", &shown] {
        let result = executor.call(name, json!({})).await;
        assert!(matches!(result.error_kind(), None | Some(ErrorKind::Denied)), "{}", result.text());
        said.push(result.outcome.err().map(|error| error.for_model));
    }
    said
}

// PO-1
#[tokio::test]
async fn deny_and_ask_meet_every_name_of_a_tool() {
    let owned = |glob: &str| vec![glob.to_owned()];
    for (prefix, shown) in [
        (None, "files__delete_file"),
        (Some("home"), "home__delete_file"),
        (Some(""), "delete_file"),
    ] {
        for glob in ["delete_file", "delete_*", "files__delete_file", "files__*", shown] {
            let deny = PolicyConfig { deny: owned(glob), ..Default::default() };
            let expected = denied(shown, &format!("deny \"{glob}\""));
            let said = judged_by_every_name(&deny, prefix).await;
            assert!(said.iter().all(|said| *said == expected), "{glob}: {said:?}");

            let ask = PolicyConfig { ask: owned(glob), ..Default::default() };
            let said = judged_by_every_name(&ask, prefix).await;
            let is_asked = |said: &Option<String>| {
                said.as_ref().is_some_and(|said| said.contains("a person must allow it"))
            };
            assert!(said.iter().all(is_asked), "{glob}: {said:?}");
        }
    }
}

// PO-1: a server's method has three names too, though the bare one finds nothing.
#[tokio::test]
async fn deny_meets_every_name_of_a_method() {
    for prefix in [None, Some("home"), Some("")] {
        for glob in ["files__resources/read", "files__*", "resources/read", "resources/*"] {
            let policy = RulePolicy::new(rules(&["*"], &[glob], false)).unwrap();
            let executor = ToolExecutor::builder().policy(policy).build();
            let read = Fake::answers("resources/read", json!(1)).of_server("files").shared();
            let settings = ServerSettings {
                prefix: prefix.map(str::to_owned),
                methods: vec![read],
                ..Default::default()
            };
            executor.tools().add_server("files", settings).unwrap();
            let prefixed = prefix.filter(|prefix| !prefix.is_empty()).unwrap_or("files");
            for name in ["files__resources/read", &format!("{prefixed}__resources/read")] {
                let result = executor.call(name, json!({})).await;
                assert_eq!(result.error_kind(), Some(ErrorKind::Denied), "{glob}: {name}");
            }
        }
    }
}

// TL-7: nor is it told what arguments it would want.
#[tokio::test]
async fn what_is_denied_is_denied_whatever_its_arguments() {
    let policy = RulePolicy::new(rules(&["*"], &["secret"], false)).unwrap();
    let executor = ToolExecutor::builder().policy(policy).build();
    let schema =
        json!({"type": "object", "properties": {"pin": {"type": "string"}}, "required": ["pin"]});
    executor.tools().add(Fake::answers("secret", json!(1)).parameters(schema)).unwrap();
    for args in [json!({}), json!({"pin": 1}), json!({"pin": "1"})] {
        let result = executor.call("secret", args).await;
        assert_eq!(result.text(), "Tool 'secret' is denied by policy: deny \"secret\"");
    }
}

// PO-1: a name that is only bare allows nothing, as before.
#[tokio::test]
async fn allow_meets_the_shown_and_the_full_name_only() {
    let allow = |glob: &str| rules(&[glob], &[], false);
    let said = judged_by_every_name(&allow("delete_file"), None).await;
    assert!(said.iter().all(Option::is_some), "{said:?}");
    for (glob, prefix) in [("files__*", None), ("files__*", Some("")), ("delete_file", Some(""))] {
        assert_eq!(judged_by_every_name(&allow(glob), prefix).await, [None, None, None]);
    }
}

/// The names that `tool_search` finds for a word that every tool has.
async fn found(executor: &ToolExecutor) -> Vec<String> {
    let found = executor.call("tool_search", json!({"query": "delete echo read search"})).await;
    let found: Value = serde_json::from_str(&found.text()).unwrap();
    let tools = found["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// TL-7
#[tokio::test]
async fn what_is_denied_is_neither_listed_nor_found_nor_suggested() {
    let policy =
        Arc::new(SwapPolicy::new(RulePolicy::new(rules(&["*"], &["delete_*"], false)).unwrap()));
    let executor = ToolExecutor::builder().policy(policy.clone()).build();
    let tools = executor.tools();
    for service in switchboard_runtime::services::all(&executor) {
        tools.add_shared(service).unwrap();
    }
    tools.add_server("files", ServerSettings::default()).unwrap();
    let tool = |name| Fake::answers(name, json!(1)).of_server("files").shared();
    tools.set_server_tools("files", vec![tool("delete_file"), tool("read_file")]);
    let listed =
        || -> Vec<_> { tools.listed().iter().map(|tool| tool.name().to_string()).collect() };
    let name = "files__delete_file".to_owned();
    assert!(!listed().contains(&name) && listed().contains(&"files__read_file".to_owned()));
    assert!(tools.all().iter().any(|tool| **tool.name() == *name), "it is there");
    assert!(!found(&executor).await.contains(&name));
    let hint = |name: &str| tools.lookup(name).err().unwrap().hint.unwrap_or_default();
    assert!(!hint("files__delete_fil").contains("delete"), "{}", hint("files__delete_fil"));
    assert_eq!(executor.call(&name, json!({})).await.error_kind(), Some(ErrorKind::Denied));

    // Another policy: lists follow, and who keeps one is told.
    let version = tools.version();
    policy.swap(RulePolicy::new(rules(&["files__delete_*", "tool_search"], &[], false)).unwrap());
    tools.changed();
    assert!(version.has_changed().unwrap());
    assert_eq!(listed(), ["tool_search", "files__delete_file"]);
    assert_eq!(found(&executor).await, ["files__delete_file"]);
    assert!(hint("files__delete_fil").contains("files__delete_file"));
}

// FT-2
#[tokio::test]
async fn a_caller_that_wants_no_side_effects_gets_none() {
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::echoes("write")).unwrap();
    executor.tools().add(Fake::echoes("look").read_only()).unwrap();
    let cx = CallContext { read_only: true, ..CallContext::default() };
    let call =
        async |name: &str| executor.execute(ToolCall::new(name, serde_json::Map::new()), &cx).await;
    assert_eq!(call("look").await.error_kind(), None);
    let refused = call("write").await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::Denied));
    assert!(refused.text().contains("not annotated as read-only"), "{}", refused.text());
    let recorded = executor.history().recent(1).await.unwrap().remove(0);
    assert_eq!(
        (&*recorded.start.tool, recorded.end.unwrap().0),
        ("write", Some(ErrorKind::Denied))
    );
}

#[test]
fn a_glob_that_is_none_is_refused() {
    let error = RulePolicy::new(rules(&["["], &[], false)).err().unwrap();
    assert!(error.to_string().contains('['), "{error}");
}

/// A policy whose check fails or panics.
struct BrokenPolicy(fn() -> PolicyCheck<'static>);

impl Policy for BrokenPolicy {
    fn check<'a>(
        &'a self,
        _: &'a RegisteredTool,
        _: &'a Value,
        _: &'a CallContext,
    ) -> PolicyCheck<'a> {
        (self.0)()
    }
}

// EX-1: when policy cannot answer, the answer is no.
#[tokio::test]
async fn a_policy_that_cannot_answer_means_no() {
    let broken: [(fn() -> PolicyCheck<'static>, _); 2] = [
        (|| PolicyCheck::Pending(Box::pin(async { Err("nobody home".into()) })), ErrorKind::Denied),
        (|| panic!("policy bug"), ErrorKind::Internal),
    ];
    for (answer, kind) in broken {
        let executor = ToolExecutor::builder().policy(BrokenPolicy(answer)).build();
        executor.tools().add(Fake::new("never", |_, _| async { unreachable!("denied") })).unwrap();
        assert_eq!(executor.call("never", json!({})).await.error_kind(), Some(kind));
    }
}

// EX-3, EX-4: a policy that is asked and never answers keeps nobody past the deadline, and nothing has run.
#[tokio::test(start_paused = true)]
async fn a_policy_that_never_answers_keeps_the_deadline() {
    let executor = ToolExecutor::builder()
        .policy(BrokenPolicy(|| PolicyCheck::Pending(Box::pin(std::future::pending()))))
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
    let wrap: ToolWrapper = Arc::new(|name, tool| match name {
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
