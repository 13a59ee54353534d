//! The same tools do the same, over MQTT and over the WebSocket.

use serde_json::{Value, json};

use crate::parts::{TestNetwork, ZwaveTransport, call};

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn over_mqtt() {
    the_tools_work(ZwaveTransport::Mqtt).await;
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn over_the_websocket() {
    the_tools_work(ZwaveTransport::Server).await;
}

async fn the_tools_work(way: ZwaveTransport) {
    let devices = TestNetwork::start(way);
    let executor = devices.executor();
    let structured = async |tool: &str, args: Value| {
        let envelope = call(&executor, tool, args).await;
        assert_eq!(envelope["success"], true, "{way:?} {tool}: {envelope}");
        envelope["result"]["structuredContent"].clone()
    };
    let listed = structured("list_devices", json!({})).await;
    let devices: Vec<_> = listed["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| {
            (
                device["id"].as_u64().unwrap(),
                device["name"].as_str().unwrap().to_owned(),
                device["type"].clone(),
            )
        })
        .collect();
    let lamp = "Bob's \"Lämp\" a/b";
    let expected =
        [(2, "Switch One", "switch"), (3, lamp, "dimmer"), (4, "Temp Sensor 1", "sensor")];
    assert_eq!(devices, expected.map(|(id, name, kind)| (id, name.to_owned(), json!(kind))));

    let orders = [
        (json!({"deviceName": "demo/switch one", "action": "on"}), json!(true)),
        (json!({"deviceName": "2", "action": "off"}), json!(false)),
        // The simulated dimmer remembers no level.
        (json!({"deviceName": lamp, "action": "on"}), json!(99)),
        (json!({"deviceName": lamp, "action": "dim", "level": 50}), json!(50)),
        (json!({"deviceName": lamp, "action": "dim", "level": 100}), json!(99)),
        (json!({"deviceName": lamp, "action": "off"}), json!(0)),
    ];
    for (order, value) in orders {
        let done = structured("control_zwave_device", order.clone()).await;
        assert_eq!(
            (&done["confirmed"], &done["value"]),
            (&json!(true), &value),
            "{way:?} {order}: {done}"
        );
        let device = structured("verify_device", json!({"deviceName": order["deviceName"]})).await;
        assert_eq!(device["value"], value, "{way:?} {order}: {device}");
    }

    let sensor = structured("get_device_sensor_data", json!({"deviceName": "temp sensor 1"})).await;
    let values: Vec<_> = sensor["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| {
            assert!(value["ageSeconds"].as_u64().is_some(), "{way:?}: {value}");
            (value["label"].clone(), value["value"].clone(), value["unit"].clone())
        })
        .collect();
    let expected = [("Air temperature", json!(21.5), "°C"), ("Humidity", json!(45), "%")];
    assert_eq!(values, expected.map(|(label, value, unit)| (json!(label), value, json!(unit))));

    let health = structured("check_zwave_health", json!({})).await;
    assert_eq!(
        (&health["status"], &health["nodes"]["alive"]),
        (&json!("healthy"), &json!(3)),
        "{health}"
    );
}
