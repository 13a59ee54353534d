use std::sync::Arc;

use serde_json::json;
use switchboard_runtime::{PolicyConfig, RulePolicy, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::ToolCall;

use super::*;

fn rules(allow_if: &[&str], deny_if: &[&str]) -> Result<RuleSet<RulePolicy>, RuleError> {
    let owned = |rules: &[&str]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    let config = PolicyConfig { deny: vec!["forbidden".to_owned()], ..Default::default() };
    RuleSet::new(&owned(allow_if), &owned(deny_if), RulePolicy::new(config).unwrap())
}

/// What is wrong with a call of `tool`, by somebody with these claims.
async fn check(
    rules: RuleSet<RulePolicy>,
    tool: &str,
    args: Value,
    claims: Option<Value>,
) -> Option<String> {
    let executor = ToolExecutor::builder().policy(rules).build();
    for tool in [Fake::echoes("look").read_only(), Fake::echoes("act"), Fake::echoes("forbidden")] {
        executor.tools().add(tool).unwrap();
    }
    let cx = CallContext {
        caller: Some("ada".into()),
        claims: claims.map(Arc::new),
        ..CallContext::default()
    };
    let Value::Object(args) = args else { panic!("arguments are an object") };
    let result = executor.execute(ToolCall::new(tool, args), &cx).await;
    (!result.is_success()).then(|| result.text())
}

// GW-2
#[tokio::test]
async fn claims_names_and_arguments_decide() {
    let home = || Some(json!({"team": "home", "roles": ["a", "b"], "level": 3}));
    let cases = [
        ("claims.team == 'home' && tool.startsWith('a')", true),
        ("claims.team == 'office'", false),
        ("'b' in claims.roles && claims.roles.exists(role, role == 'a')", true),
        ("claims.level >= 3 && claims.level < 3.5", true),
        ("caller == 'ada' && server == '' && !read_only", true),
        ("args.level <= 50 && args.nested.list[1] == 2.5", true),
        ("args.level > 50", false),
        ("type(args.level) == int", true),
        ("tool.matches('^(act|look)$')", true),
        ("args.level", false),
        ("claims.nothing == 1", false),
    ];
    for (rule, allows) in cases {
        let args = || json!({"level": 50, "nested": {"list": [1, 2.5]}});
        let allowed = check(rules(&[rule], &[]).unwrap(), "act", args(), home()).await;
        assert_eq!(allowed.is_none(), allows, "allow_if {rule}: {allowed:?}");
        // What is not plainly false denies.
        let denied = check(rules(&[], &[rule]).unwrap(), "act", args(), home()).await;
        let is_false = ["claims.team == 'office'", "args.level > 50"].contains(&rule);
        assert_eq!(denied.is_none(), is_false, "deny_if {rule}: {denied:?}");
    }
}

#[tokio::test]
async fn deny_is_stronger_and_the_other_policy_still_holds() {
    let both = rules(&["true"], &["tool == 'act'"]).unwrap();
    let text = check(both, "act", json!({}), None).await.unwrap();
    assert_eq!(text, "Tool 'act' is denied by policy: deny_if \"tool == 'act'\"");
    let all = rules(&["true"], &[]).unwrap();
    let text = check(all, "forbidden", json!({}), None).await.unwrap();
    assert!(text.contains("deny \"forbidden\""), "{text}");
    let either = rules(&["claims.team == 'home'", "read_only"], &[]).unwrap();
    assert_eq!(check(either, "look", json!({}), None).await, None, "no claims, but only reading");
    let none = rules(&["has(claims.team)"], &[]).unwrap();
    let text = check(none, "act", json!({}), None).await.unwrap();
    assert!(text.contains("no expression in allow_if"), "{text}");
    let unclear = rules(&[], &["claims.team == 'guest'"]).unwrap();
    let text = check(unclear, "act", json!({}), None).await.unwrap();
    assert!(text.contains("cannot be answered") && text.contains("team"), "{text}");
}

#[test]
fn what_does_not_compile_is_told_at_the_start() {
    for (rule, word) in [
        ("claims.team ==", "is not an expression"),
        ("claim.team == 'home'", "`claim`"),
        ("args.all(x, x > y)", "`y`"),
        ("startWith(tool, 'a')", "`startWith`"),
    ] {
        let error = rules(&[], &[rule]).err().unwrap_or_else(|| panic!("{rule}")).to_string();
        assert!(error.contains(word) && error.contains(rule), "{error}");
        assert!(error.contains("deny_if"), "{error}");
    }
}

/// Whether somebody is asked about a call of `act`, and by which rule.
async fn asked(ask_if: &str, args: Value) -> Option<String> {
    let rules = rules(&[], &["tool == 'look'"]).unwrap();
    let rules = rules.ask_if(&[ask_if.to_owned()], std::time::Duration::from_secs(1)).unwrap();
    let said = check(rules, "act", args, None).await?;
    let rule = said.strip_prefix("Tool 'act' was not run: a person must allow it (");
    Some(rule.unwrap_or(&said).split_once("), and").unwrap().0.to_owned())
}

#[tokio::test]
async fn arguments_decide_whether_a_person_is_asked() {
    let rule = "args.level > 80";
    assert_eq!(asked(rule, json!({"level": 80})).await, None);
    assert_eq!(asked(rule, json!({"level": 81})).await.unwrap(), "ask_if \"args.level > 80\"");
    let unclear = asked(rule, json!({})).await.unwrap();
    assert!(unclear.contains("cannot be answered") && unclear.contains("level"), "{unclear}");
    assert_eq!(asked("has(args.level) && args.level > 80", json!({})).await, None);
    assert_eq!(asked("tool == 'other' && args.level > 80", json!({})).await, None);
    assert!(asked("args.level", json!({"level": 1})).await.is_some(), "neither true nor false");
}

#[tokio::test]
async fn what_is_forbidden_is_not_asked_about() {
    let all = || ["true".to_owned()];
    let second = std::time::Duration::from_secs(1);
    let by_expression = rules(&[], &["tool == 'act'"]).unwrap().ask_if(&all(), second).unwrap();
    let said = check(by_expression, "act", json!({}), None).await.unwrap();
    assert!(said.contains("is denied by policy: deny_if"), "{said}");
    let by_name = rules(&[], &[]).unwrap().ask_if(&all(), second).unwrap();
    let said = check(by_name, "forbidden", json!({}), None).await.unwrap();
    assert!(said.contains("is denied by policy: deny \"forbidden\""), "{said}");
    let wrong = ["args.level >".to_owned()];
    let error = rules(&[], &[]).unwrap().ask_if(&wrong, second).err().unwrap().to_string();
    assert!(error.starts_with("`[policy] ask_if`: `args.level >` is not"), "{error}");
}
