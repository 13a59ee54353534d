//! The health of the network.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;

use crate::fake::household;

async fn check(executor: &ToolExecutor) -> (String, Value) {
    let result =
        serde_json::to_value(executor.call("check_zwave_health", json!({})).await).unwrap();
    let text = result["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["result"]["structuredContent"].clone())
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_report_is_kept_for_a_minute_unless_the_way_changes() {
    let home = household();
    let executor = home.executor();
    let asked = || *home.asked.lock().unwrap();
    let (text, report) = check(&executor).await;
    assert!(text.starts_with("Z-Wave is degraded.\n- broker: up"), "{text}");
    assert!(text.contains("nodes: 4 (3 alive, 1 dead)"), "{text}");
    assert_eq!(
        report["nodes"],
        json!({"alive": 3, "awake": 0, "asleep": 0, "dead": 1, "unknown": 0, "total": 4})
    );
    assert!(report["latencyMs"].as_f64().is_some(), "{report}");

    tokio::time::advance(Duration::from_secs(59)).await;
    let (text, report) = check(&executor).await;
    assert_eq!((asked(), &report["ageSeconds"]), (1, &json!(59)));
    assert!(text.contains("checked 59 s ago"), "{text}");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(check(&executor).await.1["ageSeconds"], 0);
    assert_eq!(asked(), 2);

    *home.is_down.lock().unwrap() = true;
    let (text, report) = check(&executor).await;
    assert!(text.starts_with("Z-Wave is unavailable: the fake could not be reached"), "{text}");
    assert_eq!((&report["status"], &report["healthy"]), (&json!("unavailable"), &json!(false)));
    assert_eq!(report["available"], false);
    *home.is_down.lock().unwrap() = false;
    let (_, report) = check(&executor).await;
    assert_eq!((&report["status"], &report["available"]), (&json!("degraded"), &json!(true)));
}
