//! Devices that ignore commands, take their time or are not known yet: only what they say themselves is told as done.

use std::time::Duration;

use serde_json::{Value, json};

use crate::parts::{
    SimulatedDevices, TestNetwork, ZwaveTransport, call, call_until_it_works, order,
};

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn over_mqtt() {
    only_what_devices_say_is_confirmed(ZwaveTransport::Mqtt).await;
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn over_the_websocket() {
    only_what_devices_say_is_confirmed(ZwaveTransport::Server).await;
}

async fn only_what_devices_say_is_confirmed(way: ZwaveTransport) {
    let devices = TestNetwork::with(way, SimulatedDevices::Stubborn);
    let executor = devices.executor();
    let dim =
        |device: &str, level: u8| json!({"deviceName": device, "action": "dim", "level": level});
    // zwave-js says of each that it is as it was told to be, a millisecond after the radio frame was acknowledged.
    let cases = [
        (order("2", "on"), "SuccessUnsupervised", None),
        (dim("3", 20), "SuccessUnsupervised", None),
        (order("3", "on"), "SuccessUnsupervised", None),
        (order("4", "on"), "Success", Some(json!(true))),
        (dim("5", 100), "SuccessUnsupervised", Some(json!(99))),
        (order("6", "on"), "SuccessUnsupervised", Some(json!(true))),
        (order("7", "on"), "SuccessUnsupervised", Some(json!(true))),
    ];
    for (order, status, value) in cases {
        let envelope = call(&executor, "control_zwave_device", order.clone()).await;
        let told = &envelope["result"]["structuredContent"];
        let seen = (&told["status"], &told["confirmed"]);
        assert_eq!(seen, (&json!(status), &json!(value.is_some())), "{way:?} {order}: {envelope}");
        let text = envelope["result"]["content"][0]["text"].as_str().unwrap();
        match value {
            Some(value) => assert_eq!(told["value"], value, "{way:?} {order}: {text}"),
            None => {
                assert!(text.ends_with("within 4s (last seen: off)."), "{way:?} {order}: {text}")
            }
        }
    }
    // Of the device with two parts, the first was switched.
    let parts = call(&executor, "get_device_sensor_data", json!({"deviceName": "6"})).await;
    let parts = parts["result"]["structuredContent"]["values"].as_array().unwrap();
    let part = |class: u64| -> Vec<&Value> {
        let of_class = parts.iter().filter(|part| part["commandClass"] == class);
        of_class
            .filter(|part| part["property"] == "currentValue")
            .map(|part| &part["value"])
            .collect()
    };
    assert_eq!((part(37), part(38)), (vec![&json!(true)], vec![&json!(0)]), "{way:?}");
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_interviewed_over_mqtt() {
    a_device_is_refused_as_unavailable_until_it_is_interviewed(ZwaveTransport::Mqtt).await;
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_interviewed_over_the_websocket() {
    a_device_is_refused_as_unavailable_until_it_is_interviewed(ZwaveTransport::Server).await;
}

async fn a_device_is_refused_as_unavailable_until_it_is_interviewed(way: ZwaveTransport) {
    let devices = TestNetwork::with(way, SimulatedDevices::Unknown);
    let executor = devices.executor();
    let refused = call(&executor, "control_zwave_device", order("7", "on")).await;
    assert_eq!(refused["error_kind"], "unavailable", "{way:?}: {refused}");
    let text = refused["error"].as_str().unwrap();
    assert!(text.contains("nodeID_7 is not ready yet, its interview has not finished."), "{text}");

    // Who asks meanwhile waits for it, and is served as soon as it is known.
    let waits = tokio::spawn({
        let executor = executor.clone();
        async move { call_until_it_works(&executor, "control_zwave_device", order("7", "on")).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waits.is_finished(), "{way:?}");
    devices.interview();
    let done = waits.await.unwrap();
    assert_eq!(done["result"]["structuredContent"]["confirmed"], true, "{way:?}: {done}");
}
