//! Gateways that are stopped, come late, or have left their retained messages behind.

use serde_json::{Value, json};
use switchboard_testkit::{Mosquitto, MqttListener};
use switchboard_zwave::Config;

use crate::parts::{TestNetwork, ZwaveTransport, call, call_until_it_works, executor, order};

const CLIENTS: &str = "zwave/_CLIENTS";

fn error(envelope: &Value) -> &str {
    assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
    envelope["error"].as_str().unwrap()
}

// HM-1: it sends no last will when it is stopped, and its retained status says that it is online.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_was_stopped_is_not_asked_again() {
    let mut devices = TestNetwork::start(ZwaveTransport::Mqtt);
    let running = devices.executor();
    call_until_it_works(&running, "control_zwave_device", order("2", "on")).await;
    devices.network.terminate();
    let witness = devices.broker.as_ref().unwrap().listen(&format!("{CLIENTS}/+/status"));
    assert_eq!(witness.hear(&format!("{CLIENTS}/ZWAVE_GATEWAY-our_home/status"))["value"], true);

    // One was connected all the time, the other one comes now.
    for executor in [&running, &devices.executor()] {
        let health = call(executor, "check_zwave_health", json!({})).await;
        let report = &health["result"]["structuredContent"];
        assert_eq!(report["status"], "unavailable", "{report}");
        let hops = (&report["broker"]["state"], &report["gateway"]["state"], &report["available"]);
        assert_eq!(hops, (&json!("up"), &json!("down"), &json!(false)), "{report}");
        // Nobody waits for an answer again.
        let silent = "'ZWAVE_GATEWAY-our_home' has not answered, and nothing was heard of it since";
        for (tool, args) in
            [("list_devices", json!({})), ("control_zwave_device", order("2", "off"))]
        {
            let refused = call(executor, tool, args).await;
            assert!(error(&refused).contains(silent), "{refused}");
        }
    }
    devices.restart_network();
    call_until_it_works(&running, "verify_device", json!({"deviceName": "2"})).await;
    assert!(devices.is_switch_on(), "what was refused was not sent late");
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn what_an_old_gateway_left_behind_does_no_harm() {
    let devices = TestNetwork::start(ZwaveTransport::Mqtt);
    let somebody = devices.broker.as_ref().unwrap().listen("nothing");
    let old = format!("{CLIENTS}/ZWAVE_GATEWAY-Old");
    somebody.retain(&format!("{old}/status"), r#"{"value":true}"#);
    somebody.retain(&format!("{old}/version"), r#"{"value":"11"}"#);
    // Retained once, by a gateway that no longer retains anything.
    somebody.retain("zwave/driver/status", "false");
    heard_by(&somebody, &devices);

    let executor = devices.executor();
    let several = call(&executor, "list_devices", json!({})).await;
    let text = error(&several);
    assert!(
        text.contains("there are several (ZWAVE_GATEWAY-Old, ZWAVE_GATEWAY-our_home)"),
        "{text}"
    );
    assert!(text.contains("mosquitto_pub -r -n -t PREFIX/_CLIENTS/NAME/status"), "{text}");
    assert!(!text.contains("is zwave-js-ui running"), "{text}");

    // Deleted, it is forgotten without a new connection, whatever else it left.
    somebody.retain(&format!("{old}/status"), "");
    call_until_it_works(&executor, "list_devices", json!({})).await;
    let anew = devices.executor();
    for executor in [&executor, &anew] {
        let health = call_until_it_works(executor, "check_zwave_health", json!({})).await;
        let report = &health["result"]["structuredContent"];
        let hops = (&report["status"], &report["gateway"]["state"], &report["driver"]["state"]);
        assert_eq!(hops, (&json!("healthy"), &json!("up"), &json!("up")), "{report}");
    }
}

/// Waits until the broker has all that was sent to it.
fn heard_by(somebody: &MqttListener, devices: &TestNetwork) {
    let broker = devices.broker.as_ref().unwrap();
    somebody.retain("test/sent", "true");
    broker.listen("test/sent").hear("test/sent");
}

// HM-1: after a restart of the broker, whoever asks first asks nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_repeated_when_the_gateway_comes() {
    let broker = Mosquitto::start();
    let api = format!("{CLIENTS}/ZWAVE_GATEWAY-late/api/getNodes");
    let status = format!("{CLIENTS}/ZWAVE_GATEWAY-late/status");
    let gateway = broker.listen(&format!("{api}/set"));
    // What the broker kept of it.
    gateway.retain(&status, r#"{"value":true}"#);
    broker.listen(&status).hear(&status);
    let executor = executor(&Config { mqtt: Some(broker.url()), ..Config::default() });
    let asked = tokio::spawn(async move { call(&executor, "list_devices", json!({})).await });
    let first = gateway.hear(&format!("{api}/set"));
    // It was not there; now it is.
    gateway.retain(&status, r#"{"value":true}"#);
    let second = gateway.hear(&format!("{api}/set"));
    assert_ne!(first["id"], second["id"]);
    let node = json!({"id": 2, "name": "Lamp", "ready": true, "status": "Alive", "values": {}});
    gateway.say(&api, &json!({"success": true, "result": [node], "origin": second}));
    let listed = asked.await.unwrap();
    assert_eq!(listed["result"]["structuredContent"]["total"], 1, "{listed}");
}

// HM-1: who asked just before the gateway was stopped does not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_ends_when_the_gateway_is_found_to_be_gone() {
    let broker = Mosquitto::start();
    let api = format!("{CLIENTS}/ZWAVE_GATEWAY-late/api/getNodes/set");
    let status = format!("{CLIENTS}/ZWAVE_GATEWAY-late/status");
    let gateway = broker.listen(&api);
    gateway.retain(&status, r#"{"value":true}"#);
    broker.listen(&status).hear(&status);
    let executor = executor(&Config { mqtt: Some(broker.url()), ..Config::default() });
    let asked = tokio::spawn(async move { call(&executor, "list_devices", json!({})).await });
    gateway.hear(&api);
    gateway.retain("zwave/driver/status", "false");
    let refused = asked.await.unwrap();
    assert!(
        error(&refused).contains("could not be reached any more: it does not answer."),
        "{refused}"
    );
}
