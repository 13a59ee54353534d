//! Figures over time, from the store and from memory alike.

use serde_json::{Value, json};
use switchboard_toolcall::ProfileRules;

use crate::{TestGateway, answer};

async fn with_calls(gateway: TestGateway) -> TestGateway {
    for _ in 0..3 {
        answer(gateway.call("echo", &json!({}))).await;
    }
    answer(gateway.call("fails", &json!({}))).await;
    answer(gateway.call("weather", &json!({}))).await;
    let token = gateway.token("ada", &["*"]);
    answer(gateway.call("wait", &json!({"secs": 0.3})).bearer_auth(token)).await;
    gateway
}

fn names(stats: &Value) -> Vec<&Value> {
    stats["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect()
}

#[tokio::test]
async fn calls_are_counted_over_time_and_by_group() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let gateway = with_calls(gateway).await;
        let (status, stats) = answer(gateway.get("/api/stats?since=1h&step=1m")).await;
        assert_eq!(status, 200, "{stats}");
        assert_eq!((&stats["step_ms"], &stats["partial"]), (&json!(60_000), &json!(false)));
        assert_eq!((&stats["total"]["calls"], &stats["total"]["failures"]), (&json!(6), &json!(2)));
        assert_eq!(stats["kinds"], json!({"invalid_parameters": 1, "tool_error": 1}));
        let steps = stats["steps"].as_array().unwrap();
        assert!((60..=61).contains(&steps.len()), "{}", steps.len());
        let count: u64 = steps.iter().map(|step| step["calls"].as_u64().unwrap()).sum();
        assert_eq!(count, 6);
        assert_eq!(steps[0]["p50_ms"], Value::Null, "nothing happened then");
        let total = &stats["total"];
        let [p50, p95, p99] = ["p50_ms", "p95_ms", "p99_ms"].map(|p| total[p].as_f64().unwrap());
        assert!(p50 <= p95 && p95 <= p99 && p99 >= 20.0, "{total}");
        assert_eq!(names(&stats)[0], "echo");
        assert_eq!(stats["groups"][0]["calls"], 3);

        let (_, slow) = answer(gateway.get("/api/stats?sort=p95&top=1")).await;
        assert_eq!(names(&slow), ["wait"]);
        let (_, failing) = answer(gateway.get("/api/stats?sort=failures&top=2")).await;
        assert_eq!(names(&failing), ["fails", "weather"]);
        let (_, callers) = answer(gateway.get("/api/stats?by=caller")).await;
        assert_eq!(
            (names(&callers), &callers["by"]),
            (vec![&Value::Null, &json!("ada")], &json!("caller"))
        );
        let (_, servers) = answer(gateway.get("/api/stats?by=server&tool=w*&caller=ada")).await;
        assert_eq!((&servers["total"]["calls"], names(&servers)), (&json!(1), vec![&Value::Null]));
        let (_, before) = answer(gateway.get("/api/stats?since=2h&until=1h")).await;
        assert_eq!(before["total"]["calls"], 0);
    }
}

// GW-2
#[tokio::test]
async fn a_token_counts_only_what_it_may_see() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let gateway = with_calls(gateway).await;
        let token = gateway.watcher("narrow", &["fails", "weather"]);
        let (_, stats) = answer(gateway.get("/api/stats").bearer_auth(&token)).await;
        assert_eq!(
            (&stats["total"]["calls"], names(&stats)),
            (&json!(2), vec![&json!("fails"), &json!("weather")])
        );
        let (_, callers) = answer(gateway.get("/api/stats?by=caller").bearer_auth(&token)).await;
        assert_eq!(names(&callers), [&Value::Null], "ada called what it may not see");
        // GW-5: without the right to watch, there is nothing of others.
        let own = gateway.token("own", &["*"]);
        for question in ["", "?by=caller", "?caller=ada"] {
            let asked = gateway.get(&format!("/api/stats{question}")).bearer_auth(&own);
            assert_eq!(answer(asked).await.1["total"]["calls"], 0, "{question}");
        }
    }
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_told_why() {
    let gateway = TestGateway::recording().await;
    for (question, says) in [
        ("?step=1s&since=1d", "1000 are the most"),
        ("?since=1h&until=2h", "before `until`"),
        ("?since=yesterday", "is not a time"),
        ("?by=colour", "unknown variant"),
        ("?sort=p42", "unknown variant"),
        ("?more=1", "more"),
        ("?tool=a%5B", "`a[` is not a glob"),
    ] {
        answer(gateway.call("echo", &json!({}))).await;
        let (status, body) = answer(gateway.get(&format!("/api/stats{question}"))).await;
        assert_eq!((status, &body["error_kind"]), (400, &json!("invalid_parameters")), "{body}");
        assert!(body["error"].as_str().unwrap().contains(says), "{question}: {body}");
    }
}

#[tokio::test]
async fn a_tool_is_shown_with_its_use() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let (_, unused) = answer(gateway.get("/api/tools/echo")).await;
        assert_eq!((&unused["use"]["calls"], &unused["use"]["last"]), (&json!(0), &Value::Null));
        let gateway = with_calls(gateway).await;
        let (_, echo) = answer(gateway.get("/api/tools/echo")).await;
        assert_eq!((&echo["name"], &echo["health"]), (&json!("echo"), &json!("ready")));
        assert_eq!(echo["annotations"]["read_only"], true);
        let used = &echo["use"];
        assert_eq!((&used["calls"], &used["failures"]), (&json!(3), &json!(0)));
        assert!(used["p95_ms"].is_number() && used["last"]["id"].is_string(), "{used}");
        let (_, fails) = answer(gateway.get("/api/tools/fails")).await;
        assert_eq!(fails["use"]["last"]["outcome"], "tool_error");
    }
}

// FT-4
#[tokio::test]
async fn definitions_are_counted_with_the_calls_of_the_last_30_days() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let gateway = with_calls(gateway).await;
        let rules = json!({"tools": ["echo"], "tool": {"echo": {"name": "say"}}});
        let rules = ProfileRules::new(serde_json::from_value(rules).unwrap()).unwrap();
        gateway.executor.tools().set_profiles(vec![("desk".to_owned(), rules)]);
        let (status, costs) = answer(gateway.get("/api/tool-costs")).await;
        assert_eq!(status, 200, "{costs}");
        assert_eq!(costs["servers"][0]["server"], Value::Null, "{costs}");
        let tools = costs["servers"][0]["tools"].as_array().unwrap();
        let calls = |name: &str| {
            tools.iter().find(|tool| tool["name"] == name).map(|tool| tool["calls_30d"].clone())
        };
        assert_eq!((calls("echo"), calls("panics")), (Some(json!(3)), Some(json!(0))), "{costs}");
        assert_eq!(calls("forbidden"), None, "it is denied");
        let tokens = |tool: &Value| tool["tokens"].as_u64().unwrap();
        let unused: u64 = tools.iter().filter(|tool| tool["calls_30d"] == 0).map(tokens).sum();
        assert_eq!(costs["unused_tokens"], unused);
        assert_eq!(costs["total_tokens"], tools.iter().map(tokens).sum::<u64>());
        let profiles = costs["profiles"].as_array().unwrap();
        assert_eq!((&profiles[0]["profile"], profiles.len()), (&json!("desk"), 1), "{costs}");
        assert_eq!(profiles[0]["tools"], 1, "{costs}");
        assert!(profiles[0]["tokens"].as_u64().unwrap() < costs["total_tokens"].as_u64().unwrap());
        // Others' calls are not counted for who may not know of them.
        let ada = gateway.token("eve", &["echo", "wait"]);
        let (_, own) = answer(gateway.get("/api/tool-costs").bearer_auth(&ada)).await;
        assert_eq!(own["profiles"], json!([]), "names of profiles are not for who sees some tools");
        let own = own["servers"][0]["tools"].as_array().unwrap().clone();
        assert!(own.len() == 2 && own.iter().all(|tool| tool["calls_30d"] == 0), "{own:?}");
        let within = gateway.get("/api/tool-costs").header("x-switchboard-profile", "desk");
        let (_, shown) = answer(within).await;
        assert_eq!(shown["profiles"], json!([]), "{shown}");
        let shown = &shown["servers"][0]["tools"];
        assert_eq!((&shown[0]["name"], shown[1].is_null()), (&json!("say"), true), "{shown}");
        assert_eq!(shown[0]["calls_30d"], 3, "{shown}");
    }
}
