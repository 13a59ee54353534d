//! Profiles: what a caller sees of the tools, by every way that the runtime has (SPEC FT-5).

use serde_json::{Value, json};
use switchboard_runtime::{
    CallNames, PolicyConfig, RulePolicy, ServerSettings, ToolExecutor, services,
    toolcall::{CallContext, Normalize, ProfileRules, ToolCall, Visibility},
};
use switchboard_testkit::Fake;

use crate::{envelope, object};

/// Two servers and local tools; `desk` has some of them, changed.
fn executor() -> ToolExecutor {
    let schema = json!({
        "type": "object",
        "properties": {"filePath": {"type": "string"}, "mode": {"type": "string"}, "raw": {}},
        "required": ["filePath"],
    });
    let rules = PolicyConfig { deny: vec!["fs__wipe".to_owned()], ..Default::default() };
    let policy = RulePolicy::new(rules).unwrap();
    let executor = ToolExecutor::builder().policy(policy).build();
    let tools = executor.tools();
    tools.add(Fake::echoes("local_one")).unwrap();
    for service in services::all(&executor) {
        tools.add_shared(service).unwrap();
    }
    for server in ["fs", "git"] {
        tools.add_server(server, ServerSettings::default()).unwrap();
    }
    let read = Fake::echoes("read_file").parameters(schema).normalize(Normalize::Auto, &[]);
    let of_fs = [read, Fake::echoes("stat"), Fake::echoes("wipe"), Fake::fails("log", "no luck")];
    let of_fs = of_fs.map(|tool| tool.of_server("fs").shared());
    assert!(tools.set_server_tools("fs", of_fs.to_vec()).is_empty());
    tools.set_server_tools("git", vec![Fake::echoes("log").of_server("git").shared()]);
    tools.set_profiles(vec![("desk".to_owned(), desk())]);
    executor
}

fn rules(config: Value) -> ProfileRules {
    ProfileRules::new(serde_json::from_value(config).unwrap()).unwrap()
}

fn desk() -> ProfileRules {
    rules(json!({
        "tools": ["fs__*", "call_history", "tool_search", "server_status"],
        "tool": {
            "fs__read_file": {
                "name": "open_report",
                "description": "Opens a quarterly report",
                "arguments": {"filePath": {"fixed": "/srv/report"}, "raw": {"hidden": true}},
            },
            "fs__wipe": {"name": "tidy"},
        },
    }))
}

fn through(executor: &ToolExecutor, profile: &str) -> CallContext {
    let profile = executor.tools().profile(profile).unwrap();
    let visibility = Visibility::of_profile(profile);
    CallContext { visibility, ..CallContext::for_caller("ada") }
}

async fn call(executor: &ToolExecutor, cx: &CallContext, name: &str, args: Value) -> Value {
    envelope(&executor.execute(ToolCall::new(name, object(args)), cx).await)
}

fn names(executor: &ToolExecutor, cx: &CallContext) -> Vec<String> {
    let listed = executor.tools().listed_for(&cx.visibility);
    listed.iter().map(|tool| tool.name().to_string()).collect()
}

// FT-5
#[tokio::test]
async fn a_tool_has_its_profiles_name_and_no_other() {
    let executor = executor();
    let cx = through(&executor, "desk");
    let listed = names(&executor, &cx);
    let own = ["read_result", "tool_search", "call_history", "server_status"];
    assert_eq!(listed, [&own[..], &["open_report", "fs__stat", "fs__log"]].concat());
    let said = call(&executor, &cx, "open_report", json!({})).await;
    assert_eq!((&said["tool_name"], &said["success"]), (&json!("open_report"), &json!(true)));
    for name in ["fs__read_file", "read_file", "git__log", "local_one", "zzz", "zzz__x"] {
        let refused = call(&executor, &cx, name, json!({})).await;
        assert_eq!(refused["error"], format!("Tool '{name}' not found"), "{refused}");
        let rest = refused.to_string().replace(name, "");
        assert!(!rest.contains("read_file") && !rest.contains("local"), "{refused}");
    }
    // A hint has the name that the caller knows.
    let near = call(&executor, &cx, "open_repor", json!({})).await;
    assert!(near["hint"].as_str().unwrap().contains("open_report"), "{near}");
    // A bare name finds what is in the profile.
    assert_eq!(call(&executor, &cx, "stat", json!({})).await["success"], true);
    // Outside everything is as it was.
    let sent = json!({"filePath": "x"});
    let outside = CallContext::default();
    let said = call(&executor, &outside, "fs__read_file", sent.clone()).await;
    assert_eq!(said["result"], sent);
}

// FT-5
#[tokio::test]
async fn what_callers_do_not_choose_never_reaches_the_tool() {
    let executor = executor();
    let cx = through(&executor, "desk");
    for sent in [
        json!({}),
        json!({"filePath": "/etc/passwd", "raw": 1}),
        json!({"file_path": "/etc/passwd"}),
        json!({"file_path": "/etc/passwd", "filePath": "/etc/passwd", "_raw": 1}),
    ] {
        let said = call(&executor, &cx, "open_report", sent.clone()).await;
        let got = &said["result"];
        assert_eq!(got["filePath"], "/srv/report", "{sent}: {said}");
        assert!(!got.to_string().contains("passwd") && got.get("raw").is_none(), "{sent}: {said}");
    }
    let tool = executor.tools().get_for("open_report", &cx.visibility).unwrap();
    let schema = &tool.spec().parameters;
    assert_eq!(schema, &json!({"type": "object", "properties": {"mode": {"type": "string"}}}));
    assert_eq!(tool.spec().description, "Opens a quarterly report");
    let wrong = call(&executor, &cx, "open_report", json!({"mode": 1})).await;
    assert_eq!(wrong["error"], "Invalid parameters: 'mode' must be string, got integer");
}

// FT-5
#[tokio::test]
async fn records_have_the_full_name_beside_the_one_that_was_used() {
    let executor = executor();
    let cx = through(&executor, "desk");
    call(&executor, &cx, "open_report", json!({"mode": "r"})).await;
    call(&executor, &cx, "fs__read_file", json!({"filePath": "old"})).await;
    call(&executor, &CallContext::for_caller("bob"), "git__log", json!({})).await;
    let records = executor.history().recent(10).await.unwrap();
    let start = &records[2].start;
    assert_eq!((&*start.tool, start.shown_as.as_deref()), ("fs__read_file", Some("open_report")));
    assert_eq!(start.profile.as_deref(), Some("desk"));
    assert_eq!(start.arguments, r#"{"mode":"r","filePath":"/srv/report"}"#);
    let history = call(&executor, &cx, "call_history", json!({})).await;
    let told = history["result"]["calls"].as_array().unwrap();
    let told: Vec<_> = told.iter().map(|call| (&call["tool"], &call["arguments"])).collect();
    let own = (&json!("open_report"), &json!({"mode": "r"}));
    assert!(told.contains(&own), "{history}");
    for hidden in ["read_file", "git__log", "/srv/report", "old"] {
        assert!(!history.to_string().contains(hidden), "{hidden}: {history}");
    }
    // A call that was made outside of the profile is known by its name in it.
    let names = CallNames { tool: "fs__read_file", ..CallNames::default() };
    let shown = |names: CallNames<'_>| executor.tools().shown_tool(&cx.visibility, &names);
    assert_eq!(shown(names).as_deref(), Some("open_report"));
    assert_eq!(shown(CallNames { tool: "git__log", ..CallNames::default() }), None);
    // The same record says that somebody in the profile asked for a name that is not there.
    let asked = CallNames { profile: Some("desk"), ..names };
    assert_eq!(shown(asked), None);
}

// FT-5
#[tokio::test]
async fn searches_and_servers_are_those_of_the_profile() {
    let executor = executor();
    let cx = through(&executor, "desk");
    let query = json!({"query": "quarterly report", "limit": 20});
    let found = call(&executor, &cx, "tool_search", query).await;
    assert_eq!(found["result"]["tools"][0]["name"], "open_report", "{found}");
    let all = json!({"query": "log read file local one stat", "limit": 100});
    let found = call(&executor, &cx, "tool_search", all).await.to_string();
    assert!(!found.contains("git__") && !found.contains("local_one"), "{found}");
    assert!(!found.contains("read_file"), "{found}");
    let status = call(&executor, &cx, "server_status", json!({})).await;
    assert_eq!(status["result"]["servers"].as_array().unwrap().len(), 1, "{status}");
}

// PO-1, FT-5
#[tokio::test]
async fn the_policy_meets_a_tool_under_its_names_outside() {
    let executor = executor();
    let cx = through(&executor, "desk");
    let denied = call(&executor, &cx, "tidy", json!({})).await;
    assert_eq!(denied["error_kind"], "denied", "{denied}");
    assert!(!denied["error"].as_str().unwrap().starts_with("Tool 'fs__wipe'"), "{denied}");
}

// FT-5
#[tokio::test]
async fn a_profile_changes_and_goes_while_it_is_used() {
    let executor = executor();
    let cx = through(&executor, "desk");
    let other = rules(json!({"tools": ["git__*"]}));
    executor.tools().set_profiles(vec![("desk".to_owned(), other)]);
    assert_eq!(names(&executor, &cx), ["read_result", "git__log"]);
    assert_eq!(call(&executor, &cx, "git__log", json!({})).await["success"], true);
    executor.tools().set_profiles(Vec::new());
    assert!(names(&executor, &cx).is_empty());
    assert_eq!(call(&executor, &cx, "git__log", json!({})).await["error_kind"], "not_found");
    assert!(executor.tools().profile("desk").is_none());
}

// FT-5
#[tokio::test]
async fn a_change_that_does_not_fit_leaves_the_tool_out() {
    let executor = executor();
    let unfit = rules(json!({
        "tool": {"fs__read_file": {"arguments": {"filePath": {"fixed": 1}}}, "fs__stat": {"name": "git__log"}},
    }));
    executor.tools().set_profiles(vec![("desk".to_owned(), unfit)]);
    let cx = through(&executor, "desk");
    let listed = names(&executor, &cx);
    assert!(!listed.contains(&"fs__read_file".to_owned()), "{listed:?}");
    // A name that another tool gets is that tool's.
    assert_eq!(listed.iter().filter(|name| *name == "git__log").count(), 1);
    let said = call(&executor, &cx, "git__log", json!({"x": 1})).await;
    assert_eq!(said["server"], "fs", "{said}");
}

/// How strict the answer to a call is: it runs, a person must approve, it is denied, there is no such tool.
fn strictness(said: &Value) -> u8 {
    match said["error_kind"].as_str() {
        None => 0,
        Some("denied") if said["error"].as_str().unwrap().contains("a person must allow it") => 1,
        Some("denied") => 2,
        Some("not_found") => 3,
        Some(other) => panic!("{other}: {said}"),
    }
}

// FT-5: whatever a profile says, a call through it is at most as free as without it.
#[tokio::test]
async fn a_profile_is_never_less_strict_than_the_policy() {
    let globs = [vec![], vec!["fs__*"], vec!["*"]];
    let mut seen = [0; 4];
    for (deny, ask) in globs.iter().flat_map(|deny| globs.iter().map(move |ask| (deny, ask))) {
        let policy = json!({"deny": deny, "ask": ask});
        let policy = RulePolicy::new(serde_json::from_value(policy).unwrap()).unwrap();
        let executor = ToolExecutor::builder().policy(policy).build();
        for name in ["fs__read", "git__log"] {
            executor.tools().add(Fake::echoes(name)).unwrap();
        }
        for (tools, (own_deny, own_ask)) in globs.iter().flat_map(|tools| {
            let pairs = globs.iter().flat_map(|deny| globs.iter().map(move |ask| (deny, ask)));
            pairs.map(move |pair| (tools, pair))
        }) {
            let profile = rules(json!({"tools": tools, "deny": own_deny, "ask": own_ask}));
            executor.tools().set_profiles(vec![("p".to_owned(), profile)]);
            for name in ["fs__read", "git__log"] {
                let plain = CallContext::for_caller("ada");
                let without = strictness(&call(&executor, &plain, name, json!({})).await);
                let said = call(&executor, &through(&executor, "p"), name, json!({})).await;
                let within = strictness(&said);
                assert!(within >= without, "{deny:?} {ask:?}, {tools:?} {own_deny:?} {own_ask:?}");
                seen[usize::from(within)] += 1;
                let is_in = |globs: &[&str]| {
                    globs.contains(&"*") || (globs.contains(&"fs__*") && name == "fs__read")
                };
                let expected = match () {
                    () if !is_in(tools) || is_in(own_deny) => 3,
                    () if is_in(own_ask) => without.max(1),
                    () => without,
                };
                assert_eq!(within, expected, "{name}: {said}");
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}
