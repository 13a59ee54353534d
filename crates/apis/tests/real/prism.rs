//! Prism refuses requests that do not match the description.

use std::{process::Command, time::Instant};

use serde_json::json;
use switchboard_apis::{ApiConfig, Description};
use switchboard_testkit::{
    parts::part,
    process::{Process, free_port},
};
use switchboard_toolcall::CallContext;

use crate::{example, github::description};

/// How much of the calls Prism has to accept.
const ACCEPTED: f64 = 0.95;

// TK-3
#[tokio::test]
async fn prism_accepts_the_calls_of_github() {
    let free = free_port();
    let mut prism = Command::new("node");
    prism.args([
        &part("apis/node_modules/.bin/prism"),
        "mock",
        "-p",
        &free.to_string(),
        &description(),
    ]);
    let _prism = Process::saying(prism, "Prism is listening");
    let base_url = Some(format!("http://127.0.0.1:{free}"));
    let config = ApiConfig { openapi: description(), base_url, ..ApiConfig::default() };
    let github = Description::load("github", &config, "__", None).await.unwrap();
    let (began, mut refused) = (Instant::now(), Vec::new());
    for tool in &github.tools {
        let args = example::arguments(&tool.spec().parameters);
        if let Err(error) = tool.call(args.clone(), &CallContext::default()).await
            // Redirects are answers, too; they are not followed to GitHub.
            && !error.for_model.contains("redirects to")
        {
            let shown: String = error.for_model.chars().take(400).collect();
            refused.push(format!("{} {args}: {shown}", tool.spec().name));
        }
    }
    // Prism does look at parameters, and whether there is a body. What is in GitHub's bodies it does not check.
    for (name, arguments, is_accepted) in [
        ("issues_create", json!({"owner": "o", "repo": "r", "title": "t"}), true),
        ("issues_create", json!({"owner": "o", "repo": "r"}), false),
        ("issues_list-for-repo", json!({"owner": "o", "repo": "r", "per_page": 5}), true),
        ("issues_list-for-repo", json!({"owner": "o", "repo": "r", "per_page": "many"}), false),
        ("issues_list-for-repo", json!({"owner": "o", "repo": "r", "state": "sideways"}), false),
    ] {
        let name = format!("github__{name}");
        let tool = github.tools.iter().find(|tool| tool.spec().name == name);
        let tool = tool.unwrap_or_else(|| panic!("{name} is there"));
        let called = tool.call(arguments.clone(), &CallContext::default()).await;
        assert_eq!(called.is_ok(), is_accepted, "{name} {arguments}: {called:?}");
    }
    let all = github.tools.len();
    println!("{} of {all} calls accepted in {:?}", all - refused.len(), began.elapsed());
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let share = (all - refused.len()) as f64 / all as f64;
    assert!(share >= ACCEPTED, "{} refused:\n{}", refused.len(), refused.join("\n"));
    println!("{}", refused.join("\n"));
}
