//! Sensors, and what is known when nobody answers.

use serde_json::{Value, json};

use crate::fake::{Fake, household};

async fn read(home: &std::sync::Arc<Fake>, device: &str) -> (String, Value) {
    let result = home.call("get_device_sensor_data", json!({"deviceName": device})).await;
    let result = serde_json::to_value(&result).unwrap();
    let text = result["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["result"]["structuredContent"].clone())
}

// HM-1
#[tokio::test]
async fn values_come_with_unit_meaning_and_age() {
    let home = household();
    let (text, structured) = read(&home, "temp sensor 1").await;
    assert_eq!(
        text,
        "Temp Sensor 1:\n- Air temperature: 21.5 °C (5 min ago)\n- Motion: motion (age unknown)"
    );
    let values = structured["values"].as_array().unwrap();
    assert_eq!(values[0]["unit"], "°C");
    assert_eq!(values[0]["ageSeconds"].as_u64().unwrap() / 10, 30);
    assert_eq!((&values[1]["value"], &values[1]["meaning"]), (&json!(8), &json!("motion")));
    assert_eq!((values.len(), &structured["stale"]), (2, &json!(false)));

    let (text, structured) = read(&home, "Fan").await;
    assert_eq!(structured["stale"], true);
    assert!(text.contains("stale: the device is dead or failed"), "{text}");
}

// HM-1, RS-2
#[tokio::test]
async fn without_a_way_to_the_devices_tools_say_what_to_check() {
    let home = household();
    let executor = home.executor();
    let sensor = json!({"deviceName": "temp sensor 1"});
    assert!(
        !executor
            .call("get_device_sensor_data", sensor.clone())
            .await
            .text()
            .contains("stale: they")
    );
    *home.is_down.lock().unwrap() = true;
    let cases = [
        ("list_devices", json!({})),
        ("list_zwave_devices", json!({})),
        ("verify_device", sensor.clone()),
        ("control_zwave_device", json!({"deviceName": "2", "action": "on"})),
        ("get_device_sensor_data", sensor.clone()),
    ];
    for (tool, args) in cases {
        let result = serde_json::to_value(executor.call(tool, args).await).unwrap();
        assert_eq!(result["error_kind"], "unavailable", "{result}");
        let error = result["error"].as_str().unwrap();
        let start = format!("Tool '{tool}' is unavailable: the fake could not be reached");
        assert!(error.starts_with(&start) && error.contains("Check: is it on?"), "{error}");
        let is_sensor = tool == "get_device_sensor_data";
        assert_eq!(error.contains("21.5 °C") && error.contains("stale"), is_sensor, "{error}");
    }
    *home.is_down.lock().unwrap() = false;
    assert!(executor.call("list_devices", json!({})).await.text().contains("Switch One"));
}
