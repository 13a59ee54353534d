//! Writes are confirmed by what comes back.

use serde_json::{Value, json};

use crate::fake::{Behaviour, household};

/// What was written, and what was answered.
async fn control(behaviour: Behaviour, args: Value) -> (Vec<Value>, Value) {
    let home = household().behaves(behaviour);
    let result = home.call("control_zwave_device", args).await;
    let written = home.writes.lock().unwrap().iter().map(|(_, value)| value.clone()).collect();
    (written, serde_json::to_value(&result).unwrap())
}

fn order(device: &str, action: &str, level: Option<u8>) -> Value {
    let mut order = json!({"deviceName": device, "action": action});
    if let Some(level) = level {
        order["level"] = level.into();
    }
    order
}

// HM-1
#[tokio::test(start_paused = true)]
async fn what_is_confirmed_is_told_as_done() {
    let (switch, lamp) = ("Switch One", "Bedroom Lamp");
    let cases = [
        (order(switch, "on", None), vec![json!(true)], "Demo/Switch One is on"),
        (order(switch, "off", None), vec![json!(false)], "Demo/Switch One is off"),
        (order(lamp, "dim", Some(100)), vec![json!(99)], "on at 100%"),
        (order(lamp, "dim", Some(50)), vec![json!(50)], "on at 50%"),
        (order(lamp, "dim", Some(75)), vec![json!(74)], "on at 75%"),
        (order(lamp, "dim", Some(0)), vec![json!(0)], "Bed Room/Bedroom Lamp is off"),
        (order(lamp, "off", None), vec![json!(0)], "Bed Room/Bedroom Lamp is off"),
        (order(lamp, "on", Some(30)), vec![json!(30)], "on at 30%"),
        // It remembers 40.
        (order(lamp, "on", None), vec![json!(255)], "on at 40%"),
    ];
    for behaviour in [Behaviour::Obey, Behaviour::ObeySilently] {
        for (args, written, words) in &cases {
            let (seen, envelope) = control(behaviour.clone(), args.clone()).await;
            assert_eq!(seen, *written, "{args}");
            let text = envelope["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(words) && text.contains("confirmed by the device"), "{text}");
            assert_eq!(envelope["result"]["structuredContent"]["confirmed"], true, "{envelope}");
        }
    }
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_dimmer_without_a_remembered_level_gets_full_light() {
    let (written, envelope) = control(Behaviour::Forget, order("3", "on", None)).await;
    assert_eq!(written, [json!(255), json!(99)]);
    assert_eq!(envelope["result"]["structuredContent"]["confirmed"], true);
    assert_eq!(envelope["result"]["structuredContent"]["value"], 99);

    // One that was seen at a level gets that.
    let home = household().behaves(Behaviour::Forget);
    let executor = home.executor();
    let orders = [("dim", Some(30), 30), ("off", None, 0), ("on", None, 30)];
    for (action, level, value) in orders {
        let args = order("3", action, level);
        let envelope = executor.call("control_zwave_device", args).await;
        let envelope = serde_json::to_value(&envelope).unwrap();
        assert_eq!(envelope["result"]["structuredContent"]["value"], value, "{envelope}");
    }
}

// HM-1
#[tokio::test(start_paused = true)]
async fn what_does_not_come_back_is_sent_and_not_confirmed() {
    let cases = [
        (Behaviour::Ignore, "the gateway took it (Success)", json!("Success")),
        (Behaviour::Hang, "the gateway has not answered within 4s", json!(null)),
    ];
    for (behaviour, words, status) in cases {
        let (_, envelope) = control(behaviour, order("2", "on", None)).await;
        let text = envelope["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("sent, not confirmed") && text.contains(words), "{text}");
        let structured = &envelope["result"]["structuredContent"];
        assert_eq!((&structured["confirmed"], &structured["status"]), (&json!(false), &status));
    }
    let (_, envelope) = control(Behaviour::Break, order("2", "on", None)).await;
    assert_eq!(envelope["error_kind"], "unavailable");
    assert!(envelope["error"].as_str().unwrap().contains("sent, not confirmed"), "{envelope}");
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_status_that_is_no_success_is_a_failure() {
    for (status, words) in
        [(0, "NoDeviceSupport"), (2, "Fail"), (5, "InvalidValue (status 5): out of range")]
    {
        let (_, envelope) = control(Behaviour::Status(status), order("2", "on", None)).await;
        assert_eq!(envelope["error_kind"], "tool_error", "{envelope}");
        assert!(envelope["error"].as_str().unwrap().contains(words), "{envelope}");
    }
    // Taken, and nothing comes back.
    for status in [1, 254] {
        let (_, envelope) = control(Behaviour::Status(status), order("2", "on", None)).await;
        assert_eq!(envelope["result"]["structuredContent"]["confirmed"], false, "{envelope}");
    }
}

// HM-1
#[tokio::test(start_paused = true)]
async fn what_a_device_cannot_do_is_refused_with_what_it_can() {
    let cases = [
        (order("Switch One", "dim", Some(50)), "which is a switch; it takes: on, off"),
        (order("Temp Sensor 1", "on", None), "which is a sensor; it can be read"),
        (order("Bedroom Lamp", "dim", None), "missing 'level'"),
        (order("Bedroom Lamp", "on", Some(0)), "must be over 0"),
    ];
    for (args, words) in cases {
        let (written, envelope) = control(Behaviour::Obey, args).await;
        assert_eq!((written, &envelope["error_kind"]), (vec![], &json!("invalid_parameters")));
        assert!(envelope["error"].as_str().unwrap().contains(words), "{envelope}");
    }
}
