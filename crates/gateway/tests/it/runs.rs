//! Runs of models over REST: each caller's own.

use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_toolcall::ProfileRules;

use crate::{TestGateway, answer};

impl TestGateway {
    async fn ask_model(&self, token: Option<&str>, text: &str) -> u16 {
        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({"model": "parrot", "messages": messages});
        let request = self.client.post(self.url("/v1/chat/completions")).json(&body);
        answer(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
        .0
    }

    async fn runs(&self, token: Option<&str>, path: &str) -> (u16, Value) {
        let request = self.get(&format!("/api/runs{path}"));
        answer(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    /// The questions of the runs that somebody may know of, newest first.
    async fn questions_of(&self, token: Option<&str>, query: &str) -> Vec<Value> {
        let (status, body) = self.runs(token, query).await;
        assert_eq!((status, &body["recorded"]), (200, &json!(true)), "{body}");
        body["runs"].as_array().unwrap().iter().map(|run| run["question"].clone()).collect()
    }

    /// The newest run, whole.
    async fn last_run(&self, token: Option<&str>) -> Value {
        let (_, body) = self.runs(token, "").await;
        let id = body["runs"][0]["id"].as_str().unwrap();
        let (status, run) = self.runs(token, &format!("/{id}")).await;
        assert_eq!(status, 200, "{run}");
        run
    }
}

// RN-1
#[tokio::test]
async fn runs_are_listed_newest_first_and_shown_turn_by_turn() {
    let gateway = TestGateway::recording().await;
    for text in ["say one", "call echo {\"a\":1}", "fail"] {
        gateway.ask_model(None, text).await;
    }
    let all = gateway.questions_of(None, "").await;
    assert_eq!(all, ["fail", "call echo {\"a\":1}", "say one"]);
    let (_, body) = gateway.runs(None, "?limit=2").await;
    let page = body["runs"].as_array().unwrap();
    assert_eq!(
        (page.len(), &page[0]["state"], &page[1]["state"]),
        (2, &json!("failed"), &json!("ended"))
    );
    let id = page[1]["id"].as_str().unwrap();
    assert_eq!(gateway.questions_of(None, &format!("?after={id}")).await, ["say one"]);
    let (status, run) = gateway.runs(None, &format!("/{id}")).await;
    assert_eq!((status, &run["model"], &run["calls"]), (200, &json!("parrot"), &json!(1)), "{run}");
    let call = &run["timeline"][0]["calls"][0];
    assert_eq!((&call["tool"], &call["outcome"]), (&json!("echo"), &json!("ok")), "{run}");
    let (status, record) =
        answer(gateway.get(&format!("/api/calls/{}", call["call_id"].as_str().unwrap()))).await;
    assert_eq!((status, &record["tool"]), (200, &json!("echo")));
    let roles =
        run["messages"].as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap());
    assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant", "tool", "assistant"]);
    assert_eq!((&run["shortened"], &run["answer"].is_string()), (&json!([]), &true), "{run}");
    for (path, status) in
        [("?limit=1001", 400), ("?after=7", 400), ("?limt=1", 400), ("/nobody", 404)]
    {
        assert_eq!(gateway.runs(None, path).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn a_gateway_that_records_nothing_says_so() {
    let gateway = TestGateway::start().await;
    gateway.ask_model(None, "say one").await;
    assert_eq!(gateway.runs(None, "").await, (200, json!({"recorded": false, "runs": []})));
}

// RN-1, PO-2
#[tokio::test]
async fn a_run_says_what_a_person_decided() {
    let gateway = TestGateway::recording().await;
    gateway
        .executor
        .tools()
        .add(switchboard_testkit::Fake::answers("delete_all", json!(1)))
        .unwrap();
    let asked = gateway.ask_model(None, "call delete_all {}");
    let decided = async {
        let id = loop {
            let (_, waiting) = answer(gateway.get("/api/approvals")).await;
            if let Some(id) = waiting["approvals"][0]["id"].as_str() {
                break id.to_owned();
            }
        };
        let decide = gateway.client.post(gateway.url(&format!("/api/approvals/{id}")));
        answer(decide.json(&json!({"decision": "allow"}))).await.0
    };
    let (status, decided) = tokio::join!(asked, decided);
    assert_eq!((status, decided), (200, 200));
    let run = gateway.last_run(None).await;
    assert_eq!(run["timeline"][0]["calls"][0]["decision"], "allow", "{run}");
}

// GW-5
#[tokio::test]
async fn a_caller_knows_of_its_own_runs() {
    let gateway = TestGateway::recording().await;
    let (one, other) = (gateway.token("one", &["*"]), gateway.token("other", &["*"]));
    for (token, text) in [(Some(&one), "say one"), (Some(&other), "say other"), (None, "say none")]
    {
        assert_eq!(gateway.ask_model(token.map(String::as_str), text).await, 200);
    }
    assert_eq!(gateway.questions_of(Some(&one), "").await, ["say one"]);
    assert_eq!(gateway.questions_of(Some(&other), "").await, ["say other"]);
    assert_eq!(gateway.questions_of(None, "").await, ["say none", "say other", "say one"]);
    let narrow = gateway.watcher("narrow", &["echo"]);
    assert_eq!(gateway.questions_of(Some(&narrow), "").await.len(), 0);
    let all = gateway.tokens.create(NewToken {
        name: "all".to_owned(),
        watch: true,
        ..NewToken::default()
    });
    assert_eq!(gateway.questions_of(Some(&all.unwrap()), "").await.len(), 3);
    let id = gateway.last_run(Some(&one)).await["id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.runs(Some(&other), &format!("/{id}")).await.0, 404);
}

// GW-5
#[tokio::test]
async fn calls_of_tools_that_are_gone_for_the_caller_are_hidden() {
    let gateway = TestGateway::recording().await;
    let token = gateway.token("t", &["echo", "weather"]);
    let text = "call weather {\"city\":\"Bonn\"}\ncall echo {\"a\":1}";
    assert_eq!(gateway.ask_model(Some(&token), text).await, 200);
    let before = gateway.last_run(Some(&token)).await;
    assert_eq!(before["timeline"][0]["calls"][0]["tool"], "weather", "{before}");
    assert!(before["messages"][2]["content"].as_str().unwrap().contains("21"), "{before}");
    // The name is the same, the right is not.
    gateway.tokens.revoke("t").unwrap();
    let token = gateway.token("t", &["echo"]);
    let after = gateway.last_run(Some(&token)).await;
    let names: Vec<_> = after["timeline"][0]["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["tool"])
        .collect();
    assert_eq!(names, ["hidden", "echo"], "{after}");
    let called = &after["messages"][1]["tool_calls"];
    assert_eq!(
        (&called[0]["name"], &called[0]["args"], &called[1]["name"]),
        (&json!("hidden"), &json!({}), &json!("echo"))
    );
    assert_eq!(after["messages"][2]["content"], "hidden", "{after}");
    assert!(after["settings"].get("tools").is_none(), "{after}");
}

// GW-5, FT-5
#[tokio::test]
async fn a_caller_in_a_profile_knows_of_the_runs_in_it() {
    let gateway = TestGateway::recording().await;
    let rules = json!({"tools": ["echo"], "tool": {"echo": {"name": "repeat"}}});
    let rules = ProfileRules::new(serde_json::from_value(rules).unwrap()).unwrap();
    gateway.executor.tools().set_profiles(vec![("desk".to_owned(), rules)]);
    let token = gateway.token("t", &["*"]);
    assert_eq!(gateway.ask_model(Some(&token), "call weather {\"city\":\"Bonn\"}").await, 200);
    let in_profile = |request: reqwest::RequestBuilder| {
        request.bearer_auth(&token).header("x-switchboard-profile", "desk")
    };
    let messages = json!([{"role": "user", "content": "call repeat {}"}]);
    let body = json!({"model": "parrot", "messages": messages});
    let request = gateway.client.post(gateway.url("/v1/chat/completions")).json(&body);
    assert_eq!(answer(in_profile(request)).await.0, 200);
    let (_, body) = answer(in_profile(gateway.get("/api/runs"))).await;
    let runs = body["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["question"]), (1, &json!("call repeat {}")), "{body}");
    let id = runs[0]["id"].as_str().unwrap();
    let (_, run) = answer(in_profile(gateway.get(&format!("/api/runs/{id}")))).await;
    assert_eq!(run["timeline"][0]["calls"][0]["tool"], "repeat", "{run}");
    let text = run.to_string();
    assert!(!text.contains("echo") && !text.contains("desk"), "{text}");
    // Without the profile, its caller knows of both.
    assert_eq!(gateway.questions_of(Some(&token), "").await.len(), 2);
    let (status, _) =
        answer(in_profile(gateway.get(&format!("/api/runs/{}", gateway.last_but_one().await))))
            .await;
    assert_eq!(status, 404);
}

impl TestGateway {
    /// The id of the run before the newest.
    async fn last_but_one(&self) -> String {
        let (_, body) = self.runs(None, "").await;
        body["runs"][1]["id"].as_str().unwrap().to_owned()
    }
}

// RN-4
#[tokio::test]
async fn a_token_spends_no_more_than_its_budget() {
    let gateway = TestGateway::recording().await;
    let token = |name: &str, budget: f64| {
        let new =
            NewToken { name: name.to_owned(), cost_budget: Some(budget), ..NewToken::default() };
        gateway.tokens.create(new)
    };
    // A turn costs 10 + 5 tokens at 1 each: a run with one call two of them.
    let poor = token("poor", 40e-6).unwrap();
    let ask = async |token: &str, model: &str| {
        let messages = json!([{"role": "user", "content": "call echo {}"}]);
        let body = json!({"model": model, "messages": messages});
        let request = gateway.client.post(gateway.url("/v1/chat/completions")).json(&body);
        let response = request.bearer_auth(token).send().await.unwrap();
        let retry = response.headers().get("x-should-retry").cloned();
        let (status, body) = crate::read(response).await;
        (status, body["error"]["code"].clone(), retry)
    };
    assert_eq!(ask(&poor, "priced").await.0, 200);
    // 10 of 40 are left: that is spent after the first turn, so no call is run.
    let (status, code, _) = ask(&poor, "priced").await;
    assert_eq!((status, code), (502, json!("cost_budget_spent")));
    let (status, code, retry) = ask(&poor, "priced").await;
    assert_eq!((status, code), (429, json!("cost_budget_spent")));
    assert_eq!(retry.unwrap(), "false");
    assert_eq!(gateway.questions_of(Some(&poor), "").await.len(), 2, "the third was not asked");
    // Another token has its own, and what costs an unknown amount is not for tokens with a budget.
    let other = token("other", 40e-6).unwrap();
    assert_eq!(ask(&other, "priced").await.0, 200);
    let (status, code, _) = ask(&other, "parrot").await;
    assert_eq!((status, code), (403, json!("cost_unknown")));
    assert_eq!(gateway.ask_model(None, "say hi").await, 200);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(token("wrong", wrong).is_err(), "{wrong}");
    }
}

// RN-4
#[tokio::test]
async fn who_has_a_budget_gives_no_more_of_it() {
    let gateway = TestGateway::recording().await;
    let admin = NewToken {
        name: "admin".to_owned(),
        admin: true,
        cost_budget: Some(2.0),
        ..NewToken::default()
    };
    let admin = gateway.tokens.create(admin).unwrap();
    for (name, wanted) in [("a", json!(5)), ("b", json!(1)), ("c", Value::Null)] {
        let body = json!({"name": name, "cost_budget": wanted});
        let request = gateway.client.post(gateway.url("/api/tokens")).json(&body);
        assert_eq!(answer(request.bearer_auth(&admin)).await.0, 201, "{name}");
    }
    let (_, tokens) = answer(gateway.get("/api/tokens")).await;
    let budgets: Vec<_> = tokens["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["cost_budget"].clone())
        .collect();
    assert_eq!(budgets, [2.0, 2.0, 1.0, 2.0]);
}
