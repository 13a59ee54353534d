//! Profiles: clients of both eras hear of what is in theirs, and of nothing else.

use std::{sync::Arc, time::Duration};

use http::Method;
use http_body_util::BodyExt;
use serde_json::json;
use switchboard_mcp_server::{McpBody, McpCaller};
use switchboard_runtime::toolcall::{Profile, ProfileConfig, ProfileRules, Visibility};
use switchboard_testkit::tools::Fake;
use tokio::time::{sleep, timeout};

use crate::test_server::{TestServer, events, in_session};

/// A caller with a profile of the tools whose names begin with `in_`.
fn caller(test: &TestServer, name: &str) -> McpCaller {
    let config = ProfileConfig { tools: vec!["in_*".to_owned()], ..ProfileConfig::default() };
    let rules = || ProfileRules::new(config.clone()).unwrap();
    let both = ["one", "two"].map(|name| (name.to_owned(), rules()));
    test.executor.tools().set_profiles(both.into());
    let profile: Arc<Profile> = test.executor.tools().profile(name).unwrap();
    McpCaller { visibility: Visibility::of_profile(profile), ..McpCaller::default() }
}

/// How often a stream says that tools have changed, until it is silent.
async fn told(mut body: McpBody) -> usize {
    let mut heard = String::new();
    while let Ok(Some(Ok(frame))) = timeout(Duration::from_secs(5), body.frame()).await {
        heard.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    let messages = events(&heard).into_iter();
    messages.filter(|(_, told)| told["method"] == "notifications/tools/list_changed").count()
}

// FT-5
#[tokio::test(start_paused = true)]
async fn changes_outside_of_a_profile_are_not_told() {
    let test = TestServer::new();
    let caller = caller(&test, "one");
    sleep(Duration::from_secs(1)).await;
    let session = test.open("2025-11-25", json!({}), &caller).await;
    let stream = test.send(Method::GET, &in_session(&session), "", &caller).await.into_body();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let listener = test.begin_alone("subscriptions/listen", wanted, &caller).await.into_body();
    for name in ["out_a", "out_b", "in_a", "out_c"] {
        test.executor.tools().add(Fake::answers(name, json!(1))).unwrap();
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((told(stream).await, told(listener).await), (1, 1));
}

// FT-5: a session belongs to the profile that it was opened in.
#[tokio::test]
async fn a_session_is_found_only_in_its_profile() {
    let test = TestServer::new();
    let (one, two) = (caller(&test, "one"), caller(&test, "two"));
    let session = test.open("2025-11-25", json!({}), &one).await;
    for (caller, found) in [(&one, true), (&two, false), (&McpCaller::default(), false)] {
        let answer = test.send(Method::GET, &in_session(&session), "", caller).await;
        assert_eq!(answer.status() == 200, found);
    }
}
