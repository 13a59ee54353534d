//! The tools are those of the contract, to the letter.

use serde_json::{Value, json};

use crate::fake::household;

// HM-1
#[tokio::test]
async fn there_are_exactly_six_tools_with_exactly_these_parameters() {
    let tools = household().executor().tools().all();
    let seen: Vec<(String, Vec<String>, Value, bool)> = tools
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            let answer = spec.output_schema.as_ref().unwrap();
            assert!(jsonschema::meta::is_valid(answer) && answer["type"] == "object", "{answer}");
            let names = spec.parameters["properties"].as_object().unwrap().keys().cloned();
            let required = spec.parameters.get("required").cloned().unwrap_or(json!([]));
            (spec.name.clone(), names.collect(), required, spec.is_read_only())
        })
        .collect();
    let expected = [
        ("list_devices", vec!["limit", "offset"], json!([]), true),
        ("list_zwave_devices", vec!["includeInactive", "filter"], json!([]), true),
        ("verify_device", vec!["deviceName"], json!(["deviceName"]), true),
        (
            "control_zwave_device",
            vec!["deviceName", "action", "level"],
            json!(["deviceName", "action"]),
            false,
        ),
        ("get_device_sensor_data", vec!["deviceName"], json!(["deviceName"]), true),
        ("check_zwave_health", vec![], json!([]), true),
    ];
    let expected = expected.map(|(name, names, required, reads)| {
        (name.to_owned(), names.into_iter().map(str::to_owned).collect(), required, reads)
    });
    assert_eq!(seen, expected);
}

// HM-1: what the schema refuses does not reach the devices.
#[tokio::test]
async fn levels_and_actions_out_of_bounds_are_refused() {
    let home = household();
    let cases = [
        (json!({"deviceName": "3", "action": "dim", "level": 101}), "level"),
        (json!({"deviceName": "3", "action": "dim", "level": -1}), "level"),
        (json!({"deviceName": "3", "action": "dim", "level": 1.5}), "level"),
        (json!({"deviceName": "3", "action": "blink"}), "on, off, dim"),
        (json!({"action": "on"}), "deviceName"),
    ];
    for (args, named) in cases {
        let refused = home.call("control_zwave_device", args.clone()).await.text();
        assert!(refused.starts_with("Invalid parameters") && refused.contains(named), "{refused}");
    }
    assert_eq!(*home.writes.lock().unwrap(), []);
}
