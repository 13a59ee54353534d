//! Parts are killed in the middle of calls, and come back.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;

use crate::parts::{TestNetwork, ZwaveTransport, call, call_until_it_works, order};

/// A read that is under way while `disaster` happens.
async fn in_mid_call(executor: &ToolExecutor, disaster: impl FnOnce()) -> Value {
    during(executor, ("list_devices", json!({})), disaster).await
}

/// A write that is under way while the network is killed. The stick stands still: the gateway knows the devices, but
/// none of them answers.
async fn in_mid_write(executor: &ToolExecutor, devices: &mut TestNetwork) {
    devices.stick.pause();
    let slow = call(executor, "control_zwave_device", order("2", "off")).await;
    let text = slow["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{slow}"));
    assert!(text.contains("sent, not confirmed: the gateway has not answered"), "{text}");
    let write = ("control_zwave_device", order("2", "off"));
    let envelope = during(executor, write, || devices.network.kill()).await;
    assert!(envelope["error"].as_str().unwrap().contains("sent, not confirmed"), "{envelope}");
    devices.stick.kill();
    devices.restart_stick();
    devices.restart_network();
}

/// A call that is under way while `disaster` happens; it must end, and not as a success.
async fn during(
    executor: &ToolExecutor,
    (tool, args): (&'static str, Value),
    disaster: impl FnOnce(),
) -> Value {
    let running = tokio::spawn({
        let executor = executor.clone();
        async move { call(&executor, tool, args).await }
    });
    // Long enough to be asked, and far less than an answer may take.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!running.is_finished());
    disaster();
    let envelope = running.await.unwrap();
    assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
    assert!(envelope["error"].as_str().unwrap().contains("Check: "), "{envelope}");
    envelope
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn broker_gateway_and_stick_are_killed_and_come_back() {
    let mut devices = TestNetwork::start(ZwaveTransport::Mqtt);
    let executor = devices.executor();
    call_until_it_works(&executor, "control_zwave_device", order("2", "on")).await;

    // The gateway stands still, so that the call is under way when the broker goes.
    devices.network.pause();
    in_mid_call(&executor, || devices.broker.as_mut().unwrap().kill()).await;
    let down = call(&executor, "control_zwave_device", order("2", "off")).await;
    assert!(down["error"].as_str().unwrap().contains("the MQTT broker"), "{down}");
    devices.restart_broker();
    devices.network.resume();
    let on = call_until_it_works(&executor, "verify_device", json!({"deviceName": "2"})).await;
    assert_eq!(on["result"]["structuredContent"]["value"], true, "nothing was sent late: {on}");

    devices.network.pause();
    // Its last will tells us, long before we would give up waiting.
    in_mid_call(&executor, || devices.network.kill()).await;
    let health = call(&executor, "check_zwave_health", json!({})).await;
    let health = &health["result"]["structuredContent"];
    assert_eq!(
        (&health["broker"]["state"], &health["gateway"]["state"]),
        (&json!("up"), &json!("down"))
    );
    let old = call(&executor, "get_device_sensor_data", json!({"deviceName": "4"})).await;
    let error = old["error"].as_str().unwrap();
    assert!(error.contains("21.5 °C") && error.contains("stale"), "{error}");

    devices.restart_network();
    call_until_it_works(&executor, "control_zwave_device", order("2", "on")).await;
    in_mid_write(&executor, &mut devices).await;
    call_until_it_works(&executor, "control_zwave_device", order("2", "on")).await;
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_and_comes_back() {
    let mut devices = TestNetwork::start(ZwaveTransport::Server);
    let executor = devices.executor();
    call_until_it_works(&executor, "control_zwave_device", order("2", "on")).await;
    devices.network.pause();
    in_mid_call(&executor, || devices.network.kill()).await;
    let down = call(&executor, "control_zwave_device", order("2", "off")).await;
    assert!(down["error"].as_str().unwrap().contains("the zwave-js-server"), "{down}");
    devices.restart_network();
    call_until_it_works(&executor, "control_zwave_device", order("2", "off")).await;
    in_mid_write(&executor, &mut devices).await;
    call_until_it_works(&executor, "control_zwave_device", order("2", "on")).await;
}
