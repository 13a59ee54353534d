//! Devices that have not been interviewed: after a gateway's start, or never.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_zwave::{NodeStatus, ZwaveNode};

use crate::fake::{Fake, device, reading, switch};

fn lamp(status: NodeStatus) -> ZwaveNode {
    ZwaveNode { ready: false, status, ..device(2, "Kitchen", "Light", Vec::new()) }
}

async fn call(home: &Arc<Fake>, tool: &str, args: Value) -> Value {
    serde_json::to_value(home.call(tool, args).await).unwrap()
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_device_that_is_not_ready_is_waited_for() {
    let home = Fake::with(vec![lamp(NodeStatus::Unknown)]);
    let gateway = home.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        *gateway.nodes.lock().unwrap() = vec![switch(2, "Kitchen", "Light")];
    });
    let done =
        call(&home, "control_zwave_device", json!({"deviceName": "Light", "action": "on"})).await;
    assert_eq!(done["result"]["structuredContent"]["confirmed"], true, "{done}");
}

// HM-1, RS-2: what nobody knows yet is no mistake of who asks.
#[tokio::test(start_paused = true)]
async fn a_device_that_stays_unknown_is_unavailable() {
    let cases = [
        (NodeStatus::Unknown, 4, "Try again in a few seconds"),
        (NodeStatus::Alive, 4, "Try again in a few seconds"),
        (NodeStatus::Asleep, 0, "It is asleep: wake it up, and try again"),
        (NodeStatus::Dead, 0, "It is dead: see that it has power and is in reach, and try again"),
    ];
    for (status, seconds, way_out) in cases {
        let home = Fake::with(vec![lamp(status)]);
        let began = tokio::time::Instant::now();
        let refused =
            call(&home, "control_zwave_device", json!({"deviceName": "2", "action": "on"})).await;
        let expected = format!(
            "Tool 'control_zwave_device' is unavailable: Kitchen/Light is not ready yet, its interview has not finished. \
             {way_out}"
        );
        assert_eq!(
            (&refused["error"], &refused["error_kind"]),
            (&json!(expected), &json!("unavailable"))
        );
        assert_eq!(began.elapsed().as_secs(), seconds, "{status:?}");
        assert_eq!(*home.writes.lock().unwrap(), []);
    }
}

// HM-1: nothing is said of what a device can do before that is known.
#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_of_a_device_that_is_not_ready() {
    let home = Fake::with(vec![lamp(NodeStatus::Alive)]);
    let verified = call(&home, "verify_device", json!({"deviceName": "2"})).await;
    assert_eq!(
        verified["result"]["content"][0]["text"],
        "Kitchen/Light (id 2): not known yet what it is, alive, not fully interviewed. Its interview has not finished: what \
         it can do is not known yet."
    );
    let device = &verified["result"]["structuredContent"];
    assert_eq!((&device["type"], &device["ready"]), (&json!("unknown"), &json!(false)));
    let read = call(&home, "get_device_sensor_data", json!({"deviceName": "2"})).await;
    assert_eq!(
        read["result"]["content"][0]["text"],
        "Kitchen/Light has reported no values yet: its interview has not finished."
    );
}

// HM-1: what is known of it is told, and no more.
#[tokio::test(start_paused = true)]
async fn a_device_that_measures_may_still_turn_out_to_be_a_switch() {
    let node = lamp(NodeStatus::Alive);
    let home = Fake::with(vec![ZwaveNode {
        values: vec![reading(49, "Power", json!(3))],
        ..node.clone()
    }]);
    let verified = call(&home, "verify_device", json!({"deviceName": "2"})).await;
    let text = verified["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Kitchen/Light (id 2): sensor, alive, not fully interviewed"),
        "{text}"
    );
    assert!(text.ends_with("what it can do is not known yet."), "{text}");
    let refused =
        call(&home, "control_zwave_device", json!({"deviceName": "2", "action": "on"})).await;
    assert_eq!(refused["error_kind"], "unavailable", "{refused}");
}
