use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{mock::MockTool, responses::Responses};

fn faulty(rules: &[&str], seed: u64, name: &str) -> Arc<dyn Tool> {
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let spec = ToolSpec::new(name, "d", json!({"type": "object"}));
    let tool = Arc::new(MockTool::new(spec, Responses::default(), Some(json!("fine"))));
    Faults::new(rules, seed).wrap(name, tool)
}

async fn call(tool: &Arc<dyn Tool>) -> Result<String, (ErrorKind, String)> {
    let answer = tool.call(json!({}), &CallContext::default()).await;
    answer.map(|output| output.text()).map_err(|error| (error.kind, error.for_model))
}

#[tokio::test(start_paused = true)]
async fn each_fault_shows_itself() {
    let one = |rule: &str| faulty(&[rule], 1, "x");
    assert_eq!(call(&one("x: 0% error")).await, Ok("fine".to_owned()));
    assert_eq!(call(&one("y: 100% error")).await, Ok("fine".to_owned()));
    let failed = Err((ErrorKind::ToolError, "injected fault: 'x' failed".to_owned()));
    assert_eq!(call(&one("x: 100% error")).await, failed);
    let text = "Tool 'x' is unavailable: injected fault".to_owned();
    assert_eq!(call(&one("*:100%unavailable")).await, Err((ErrorKind::Unavailable, text)));
    assert!(call(&one("x: 100% garbage")).await.unwrap().contains("<html>"));
    let began = Instant::now();
    assert_eq!(call(&one("x: 100% slow 5s")).await, Ok("fine".to_owned()));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    let never = one("x: 100% timeout");
    tokio::time::timeout(Duration::from_secs(3600), call(&never)).await.unwrap_err();
}

#[tokio::test]
async fn the_first_rule_that_knows_a_tool_decides() {
    let rules = ["a*: 100% error", "*: 100% garbage"];
    assert!(call(&faulty(&rules, 1, "apple")).await.is_err());
    assert!(call(&faulty(&rules, 1, "pear")).await.is_ok());
}

#[tokio::test]
async fn a_seed_gives_the_same_faults_and_the_shares_that_were_asked_for() {
    let run = async |seed| {
        let tool = faulty(&["x: 10% unavailable, 5.5% error"], seed, "x");
        let mut kinds = Vec::new();
        for _ in 0..10_000 {
            kinds.push(call(&tool).await.err().map(|(kind, _)| kind));
        }
        kinds
    };
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
    let share = |kind| first.iter().filter(|met| **met == Some(kind)).count();
    assert!((900..1100).contains(&share(ErrorKind::Unavailable)), "{first:?}");
    assert!((450..650).contains(&share(ErrorKind::ToolError)), "{first:?}");
}

#[test]
fn a_rule_that_cannot_be_read_says_why() {
    for (rule, says) in [
        ("10% timeout", "which tools"),
        (": 10% timeout", "which tools"),
        ("a[: 10% timeout", "`a[` is not a glob"),
        ("*: timeout", "`timeout` does not say how often"),
        ("*:", "how often"),
        ("*: many% timeout", "`many%` is not a percentage"),
        ("*: 101% timeout", "`101%` is not a percentage"),
        ("*: NaN% timeout", "not a percentage"),
        ("*: 10% timout", "unknown fault `timout`; known are timeout"),
        ("*: 10% error 5s", "unknown fault `error 5s`"),
        ("*: 10% slow", "`slow` needs how much later"),
        ("*: 10% slow 5", "`5` is not a duration"),
        ("*: 60% error, 60% garbage", "more than 100%"),
    ] {
        let error = rule.parse::<FaultRule>().unwrap_err().to_string();
        assert!(error.contains(says), "{rule}: {error}");
    }
}
