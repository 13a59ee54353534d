//! What the console needs of those who administer: tokens, rules, decisions, what servers have beside tools.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_gateway::{CandidateRules, Config, RuleCompiler};
use switchboard_rules::RuleSet;
use switchboard_runtime::{Policy, RulePolicy};

use crate::{TestGateway, answer};

/// A server with a resource and a prompt.
const LIBRARY: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"library","version":"1"}}}\n' "$id";;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id";;
    *'"resources/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"resources":[{"uri":"book:1","name":"One"}]}}\n' "$id";;
    *'"resources/templates/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"resourceTemplates":[{"uriTemplate":"book:{n}","name":"Any"}]}}\n' "$id";;
    *'"resources/read"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":"book:1","text":"Once upon a time"}]}}\n' "$id";;
    *'"prompts/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"prompts":[{"name":"review"}]}}\n' "$id";;
  esac
done
"#;

impl TestGateway {
    fn admin(&self, new: NewToken) -> String {
        self.tokens.create(NewToken { admin: true, ..new }).unwrap()
    }

    async fn make_token(&self, bearer: Option<&str>, wanted: &Value) -> (u16, Value) {
        let request = self.client.post(self.url("/api/tokens")).json(wanted);
        answer(match bearer {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }
}

// GW-2
#[tokio::test]
async fn tokens_are_made_listed_and_revoked() {
    let gateway = TestGateway::start().await;
    let (status, made) =
        gateway.make_token(None, &json!({"name": "cursor", "tools": ["e*"], "watch": true})).await;
    assert_eq!((status, &made["name"]), (201, &json!("cursor")), "{made}");
    let secret = made["token"].as_str().unwrap();
    let (status, tools) = answer(gateway.get("/api/tools").bearer_auth(secret)).await;
    assert_eq!((status, tools.as_array().unwrap().len()), (200, 1));
    let (_, listed) = answer(gateway.get("/api/tokens")).await;
    let token = &listed["tokens"][0];
    assert_eq!(
        (&token["visible"], &token["watch"], &token["admin"]),
        (&json!(1), &json!(true), &json!(false))
    );
    assert!(!listed.to_string().contains(secret));
    assert_eq!(gateway.make_token(None, &json!({"name": "cursor"})).await.0, 409);
    let long = "x".repeat(101);
    for wrong in [
        json!({"name": ""}),
        json!({"name": long}),
        json!({"nam": "x"}),
        json!({"name": "x", "tools": ["["]}),
    ] {
        assert_eq!(gateway.make_token(None, &wrong).await.0, 400, "{wrong}");
    }
    let revoke = || gateway.client.delete(gateway.url("/api/tokens/cursor"));
    assert_eq!(answer(revoke()).await.0, 204);
    assert_eq!(answer(revoke()).await.0, 404);
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(secret)).await.0, 401);
}

// GW-2
#[tokio::test]
async fn nobody_gives_a_right_that_it_has_not() {
    let gateway = TestGateway::start().await;
    let named = |name: &str| NewToken { name: name.to_owned(), ..NewToken::default() };
    let plain = gateway.token("plain", &["*"]);
    let admin = gateway.admin(named("admin"));
    let some = gateway.admin(NewToken { tools: Some(vec!["e*".to_owned()]), ..named("some") });
    for path in ["/api/tokens", "/api/policy", "/api/approvals/decided"] {
        for token in [&plain, &some] {
            assert_eq!(answer(gateway.get(path).bearer_auth(token)).await.0, 403, "{path}");
        }
    }
    for token in [&plain, &some] {
        assert_eq!(gateway.make_token(Some(token), &json!({"name": "x"})).await.0, 403);
        let revoke = gateway.client.delete(gateway.url("/api/tokens/admin")).bearer_auth(token);
        assert_eq!(answer(revoke).await.0, 403);
        let test = gateway.client.post(gateway.url("/api/policy/test")).bearer_auth(token);
        assert_eq!(answer(test).await.0, 403);
    }
    for right in ["approve", "watch"] {
        let wanted = json!({"name": "more", right: true});
        assert_eq!(gateway.make_token(Some(&admin), &wanted).await.0, 403, "{right}");
    }
    assert_eq!(gateway.make_token(Some(&admin), &json!({"name": "less"})).await.0, 201);
}

// PO-1
#[tokio::test]
async fn tools_say_what_the_policy_says_of_them() {
    let gateway = TestGateway::start().await;
    gateway
        .executor
        .tools()
        .add(switchboard_testkit::Fake::answers("delete_all", json!(1)))
        .unwrap();
    let (_, tools) = answer(gateway.get("/api/tools")).await;
    let named = |tools: &Value, name: &str| {
        tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned()
    };
    assert_eq!(named(&tools, "delete_all").unwrap()["held"], "ask \"delete_*\"");
    assert_eq!(named(&tools, "echo").unwrap().get("held"), None);
    assert_eq!(named(&tools, "forbidden"), None);
    let (_, all) = answer(gateway.get("/api/tools?denied=1")).await;
    assert_eq!(named(&all, "forbidden").unwrap()["denied"], "deny \"forbidden\"");
    // Others do not learn of it.
    let token = gateway.token("some", &["*"]);
    let (_, seen) = answer(gateway.get("/api/tools?denied=1").bearer_auth(token)).await;
    assert_eq!(named(&seen, "forbidden"), None);
    for wrong in ["yes", "2"] {
        assert_eq!(answer(gateway.get(&format!("/api/tools?denied={wrong}"))).await.0, 400);
    }
}

/// Compiles rules as the program does.
pub(crate) struct TestRules;

impl RuleCompiler for TestRules {
    fn compile(&self, rules: CandidateRules) -> Result<Arc<dyn Policy>, String> {
        let CandidateRules { policy, allow_if, deny_if } = rules;
        let names = RulePolicy::new(policy.clone()).map_err(|error| error.to_string())?;
        let rules = RuleSet::new(&allow_if, &deny_if, names);
        let rules = rules.and_then(|rules| rules.ask_if(&policy.ask_if, policy.ask_timeout.0));
        Ok(Arc::new(rules.map_err(|error| error.to_string())?))
    }
}

// PO-1, PO-3
#[tokio::test]
async fn rules_are_tested_on_recorded_calls() {
    let gateway = TestGateway::recording().await;
    for _ in 0..2 {
        assert_eq!(answer(gateway.call("echo", &json!({"a": 1}))).await.0, 200);
    }
    assert_eq!(answer(gateway.call("forbidden", &json!({}))).await.0, 403);
    let test =
        |body: &Value| gateway.client.post(gateway.url("/api/policy/test?since=1h")).json(body);
    let now = gateway.client.post(gateway.url("/api/policy/test"));
    let (status, report) = answer(now).await;
    assert_eq!(
        (status, &report["calls"], &report["same"]),
        (200, &json!(3), &json!(3)),
        "{report}"
    );
    let (_, report) = answer(test(&json!({"deny": ["e*"]}))).await;
    let change = |at: usize| {
        let change = &report["changes"][at];
        (change["change"].clone(), change["tool"].clone(), change["calls"].clone())
    };
    assert_eq!(change(0), (json!("denied"), json!("echo"), json!(2)), "{report}");
    assert_eq!(change(1), (json!("allowed"), json!("forbidden"), json!(1)));
    // Expressions look at the arguments and the caller; the first two calls had `{"a": 1}`, and nobody's name.
    let by_expression = [
        (json!({"deny_if": ["tool == 'echo' && args.a == 1"]}), "denied", 2),
        (json!({"ask_if": ["has(args.a)"]}), "asked", 2),
        (json!({"allow_if": ["caller == 'ops'"]}), "denied", 2),
        (json!({"deny_if": ["tool == 'echo' && args.a == 2"]}), "allowed", 1),
    ];
    for (rules, change, calls) in by_expression {
        let (status, report) = answer(test(&rules)).await;
        assert_eq!(status, 200, "{report}");
        let changes = report["changes"].as_array().unwrap();
        let found = changes.iter().find(|found| found["change"] == change);
        assert_eq!(found.map(|found| &found["calls"]), Some(&json!(calls)), "{rules} {report}");
    }
    let unknown = answer(test(&json!({"deny_if": ["path == 'x'"]}))).await.1.to_string();
    assert!(unknown.contains("speaks of `path`"), "{unknown}");
    for wrong in [
        json!({"deny": ["["]}),
        json!({"den": []}),
        json!([]),
        json!({"ask_if": ["true &&"]}),
        json!({"deny_if": "true"}),
    ] {
        assert_eq!(answer(test(&wrong)).await.0, 400, "{wrong}");
    }
    assert_eq!(answer(gateway.get("/api/approvals/decided?since=soon")).await.0, 400);
    let (_, decided) = answer(gateway.get("/api/approvals/decided")).await;
    assert_eq!(decided, json!([]));
    let (_, policy) = answer(gateway.get("/api/policy")).await;
    assert_eq!((&policy["refused"], &policy["ask_timeout"]), (&json!(null), &json!("300s")));
}

// GW-1
#[tokio::test]
async fn calls_are_found_by_what_they_say() {
    let gateway = TestGateway::recording().await;
    let (_, found) = answer(gateway.call("echo", &json!({"note": "Mars"}))).await;
    assert_eq!(answer(gateway.call("weather", &json!({"city": "Rom"}))).await.0, 200);
    answer(gateway.call("fails", &json!({}))).await;
    let search = async |text: &str| {
        let (status, calls) = answer(gateway.get(&format!("/api/calls?text={text}"))).await;
        assert_eq!(status, 200, "{calls}");
        let tools = calls.as_array().unwrap().iter().map(|call| call["tool"].clone());
        tools.collect::<Vec<_>>()
    };
    assert_eq!(search("mars").await, ["echo"], "{found}");
    assert_eq!(search("temp").await, ["weather"], "in the result");
    assert_eq!(search("NO%20LUCK").await, ["fails"], "in the error");
    assert_eq!(search("pluto").await, [""; 0]);
    assert_eq!(search("ma*").await, ["echo"], "the beginning of a word");
    assert_eq!(search("ars").await, [""; 0], "the middle of one");
    assert_eq!(search("%22luck%20no%22").await, [""; 0], "not in this order");
    assert_eq!(search("temp&failed").await, [""; 0]);
    // A token finds its own calls, of tools that it may see.
    let found_by = async |token: &str, text: &str| {
        let asked = gateway.get(&format!("/api/calls?text={text}")).bearer_auth(token);
        answer(asked).await.1.as_array().map(Vec::len)
    };
    let token = gateway.token("agent-7", &["echo"]);
    assert_eq!(found_by(&token, "mars").await, Some(0));
    let own = gateway.call("echo", &json!({"note": "Mars"})).bearer_auth(&token);
    assert_eq!(answer(own).await.0, 200);
    assert_eq!((search("mars").await.len(), found_by(&token, "mars").await), (2, Some(1)));
    let blind = gateway.watcher("blind", &["weather"]);
    assert_eq!(
        (found_by(&blind, "mars").await, found_by(&blind, "temp").await),
        (Some(0), Some(1))
    );
    // What is redacted is not found.
    answer(gateway.call("echo", &json!({"password": "saturn"}))).await;
    assert_eq!(search("saturn").await, [""; 0]);
    // Without a store, arguments are all that is known.
    let forgetful = TestGateway::start().await;
    assert_eq!(answer(forgetful.call("echo", &json!({"note": "Mars"}))).await.0, 200);
    let (_, calls) = answer(forgetful.get("/api/calls?text=MARS")).await;
    assert_eq!(calls.as_array().unwrap().len(), 1);
}

// GW-1, GW-2
#[tokio::test]
async fn resources_and_prompts_of_a_server_are_listed_and_read() {
    let gateway = TestGateway::with_server(Config::default(), LIBRARY).await;
    let resources = loop {
        let (status, body) = answer(gateway.get("/api/servers/tiny/resources")).await;
        if status == 200 {
            break body;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!(resources["resources"][0]["uri"], "book:1");
    assert_eq!(resources["templates"][0]["uriTemplate"], "book:{n}");
    let call = resources["call"].as_str().unwrap().replace('/', "%2F");
    let (status, read) = answer(gateway.call(&call, &json!({"uri": "book:1"}))).await;
    assert_eq!(status, 200, "{read}");
    assert!(read.to_string().contains("Once upon a time"), "{read}");
    let (_, prompts) = answer(gateway.get("/api/servers/tiny/prompts")).await;
    assert_eq!(prompts["prompts"][0]["name"], "review");
    assert_eq!(answer(gateway.get("/api/servers/nobody/prompts")).await.0, 404);
    // Its command line is for who administers.
    let (_, server) = answer(gateway.get("/api/servers/tiny")).await;
    assert!(server["origin"].as_str().unwrap().starts_with("sh -c '"), "{server}");
    let token = gateway.token("some", &["*"]);
    let (_, server) = answer(gateway.get("/api/servers/tiny").bearer_auth(&token)).await;
    assert_eq!(server.get("origin"), None);
    let other = gateway.token("other", &["echo"]);
    let (status, _) = answer(gateway.get("/api/servers/tiny/resources").bearer_auth(other)).await;
    assert_eq!(status, 404, "whoever sees no tool of it does not know it");
    gateway.servers.as_ref().unwrap().close().await;
}
