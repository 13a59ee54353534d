//! Only what the device itself says is told as confirmed: zwave-js reports a value as soon as the radio frame was
//! acknowledged, whatever the device does.

use serde_json::{Value, json};

use crate::fake::{Behaviour, Device, Fake, household, reading};

/// The text, and what it is for programs.
async fn control(device: Device, args: Value) -> (String, Value) {
    let home = household().behaves(Behaviour::Guess(device));
    let result = home.call("control_zwave_device", args).await;
    let envelope = serde_json::to_value(&result).unwrap();
    let text =
        envelope["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{envelope}"));
    (text.to_owned(), envelope["result"]["structuredContent"].clone())
}

fn orders() -> [(Value, Value); 4] {
    [
        (json!({"deviceName": "2", "action": "on"}), json!(true)),
        (json!({"deviceName": "3", "action": "dim", "level": 20}), json!(20)),
        (json!({"deviceName": "3", "action": "on", "level": 100}), json!(99)),
        // It remembers 40.
        (json!({"deviceName": "3", "action": "on"}), json!(40)),
    ]
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_device_that_ignores_the_command_has_confirmed_nothing() {
    let cases =
        [(Device::Ignores, "off", json!(false)), (Device::IgnoresMutely, "nothing", json!(null))];
    for (device, last_seen, value) in cases {
        for (order, _) in orders() {
            let (text, structured) = control(device, order.clone()).await;
            let words = format!(
                "was sent, not confirmed: the gateway took it (SuccessUnsupervised), but the device has not reported it \
                 within 4s (last seen: {last_seen})."
            );
            assert!(text.ends_with(&words), "{device:?} {order}: {text}");
            let value =
                if order["deviceName"] == "3" && value == false { json!(0) } else { value.clone() };
            assert_eq!(
                (&structured["confirmed"], &structured["value"]),
                (&json!(false), &value),
                "{device:?} {order}: {structured}"
            );
        }
    }
}

// HM-1
#[tokio::test(start_paused = true)]
async fn a_device_that_did_it_confirms_it_when_it_is_asked() {
    for (order, value) in orders() {
        let (text, structured) = control(Device::Obeys, order.clone()).await;
        assert!(text.ends_with("confirmed by the device."), "{order}: {text}");
        let told = (&structured["confirmed"], &structured["status"], &structured["value"]);
        assert_eq!(told, (&json!(true), &json!("SuccessUnsupervised"), &value), "{order}");
    }
}

// HM-1: levels on the way to the wanted one are neither taken for it nor for a refusal.
#[tokio::test(start_paused = true)]
async fn a_dimmer_may_take_its_time() {
    let cases = [
        (json!({"deviceName": "3", "action": "dim", "level": 70}), "is on at 70%, confirmed", 69),
        (json!({"deviceName": "3", "action": "on", "level": 100}), "is on at 100%, confirmed", 99),
        // It remembers 80, which nobody else knows.
        (json!({"deviceName": "3", "action": "on"}), "is on at 81%, confirmed", 80),
    ];
    for (order, words, value) in cases {
        let (text, structured) = control(Device::Ramps, order.clone()).await;
        assert!(text.contains(words), "{order}: {text}");
        assert_eq!(structured["value"], value, "{order}: {structured}");
    }
}

// HM-1: of several parts the first is switched.
#[tokio::test(start_paused = true)]
async fn the_lowest_endpoint_is_switched_and_a_dimmer_before_a_switch() {
    let on = |class: u64, endpoint: u64| {
        let mut reading =
            reading(class, "currentValue", if class == 38 { json!(0) } else { json!(false) });
        reading.id.endpoint = endpoint;
        reading
    };
    let cases = [
        (vec![on(38, 2), on(37, 1)], (37, 1)),
        (vec![on(38, 1), on(37, 2)], (38, 1)),
        (vec![on(37, 1), on(38, 1)], (38, 1)),
        (vec![on(38, 1), on(38, 2), on(37, 0)], (37, 0)),
    ];
    for (values, expected) in cases {
        let home = Fake::with(vec![crate::fake::device(7, "", "Doppel", values)]);
        let order = json!({"deviceName": "Doppel", "action": "on", "level": 100});
        let result = home.call("control_zwave_device", order).await;
        assert!(result.text().contains("confirmed by the device"), "{}", result.text());
        let written = home.written.lock().unwrap();
        assert_eq!((written[0].command_class, written[0].endpoint), expected);
    }
}
