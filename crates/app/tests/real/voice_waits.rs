//! A question to `switchboard voice` waits for the tools of a server that is slow to start, and says so (TL-6).

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};
use switchboard_testkit::{Mosquitto, MqttListener};

use crate::serving::{Ending, switchboard};

/// A model that calls a tool of the server and then answers; if the tool is missing, that is told as an error.
const SCRIPT: &str = r#"{"turns": [
    {"tool_calls": [{"name": "time__convert_time", "args": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}}]},
    {"text": "Nine in the evening."}
]}"#;

fn voice(folder: &Path, broker: &Mosquitto, mcp: &str, server: &str) -> Ending {
    fs::write(folder.join("script.json"), SCRIPT).unwrap();
    let config =
        format!("[mcp]\n{mcp}\n[servers.time]\ncommand = 'sh'\nargs = ['-c', '{server}']\n");
    fs::write(folder.join("switchboard.toml"), config).unwrap();
    let url = broker.url();
    let words = ["voice", "--mqtt", &url, "-m", "script:script.json", "--source", "none"];
    let mut command = switchboard(folder, &words);
    let log = fs::File::create(folder.join("log")).unwrap();
    Ending(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// What is said until there is an answer: the states, the errors and the answer.
fn told_until_answered(household: &MqttListener) -> Vec<(String, Value)> {
    let mut told = Vec::new();
    loop {
        let (topic, payload) = household.next();
        let message: Value = serde_json::from_slice(&payload).unwrap();
        match topic.as_str() {
            "voice/ai-response" => {
                told.push((topic, message["answer"].clone()));
                return told;
            }
            "voice/state" => told.push((topic, message)),
            "voice/error" => told.push((topic, message["error"].clone())),
            _ => {}
        }
    }
}

fn states(told: &[(String, Value)]) -> Vec<&str> {
    let states = told.iter().filter(|(topic, _)| topic == "voice/state");
    states.map(|(_, state)| state["state"].as_str().unwrap()).collect()
}

// TL-6, HM-2
#[test]
fn a_question_waits_for_a_server_that_is_slow_to_start() {
    let (folder, broker) = (tempfile::tempdir().unwrap(), Mosquitto::start());
    let household = broker.listen("voice/#");
    let parts = std::env::var("SWITCHBOARD_PARTS").expect("set by `cargo xtask test`");
    let server = format!("sleep 4; exec {parts}/mcp-python/venv/bin/mcp-server-time");
    let _voice = voice(folder.path(), &broker, "startup_wait = '60s'", &server);
    assert_eq!(household.hear("voice/state")["state"], "listening");
    household.say("voice/request", &json!({"text": "What time is it in Tokyo at noon?"}));
    let told = told_until_answered(&household);
    assert_eq!(states(&told), ["thinking", "connecting", "thinking"], "{told:?}");
    assert_eq!(told[1].1["servers"], json!(["time"]));
    assert!(told[1].1["timestamp"].is_string(), "{told:?}");
    assert_eq!(told.last().unwrap().1, "Nine in the evening.");
    assert!(!told.iter().any(|(topic, _)| topic == "voice/error"), "the tool was there: {told:?}");
}

// TL-6: but no longer than `startup_wait`, and only once.
#[test]
fn a_question_goes_on_without_a_server_that_says_nothing() {
    let (folder, broker) = (tempfile::tempdir().unwrap(), Mosquitto::start());
    let household = broker.listen("voice/#");
    let _voice = voice(folder.path(), &broker, "startup_wait = '2s'", "sleep 600");
    assert_eq!(household.hear("voice/state")["state"], "listening");
    household.say("voice/request", &json!({"text": "Hello?"}));
    let state = household.hear("voice/state");
    assert_eq!(state["state"], "thinking");
    let state = household.hear("voice/state");
    assert_eq!((&state["state"], &state["servers"]), (&json!("connecting"), &json!(["time"])));
    assert_eq!(household.hear("voice/state")["state"], "thinking");
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let missing = "⚠️ Continuing without time: not connected within 2s (`[mcp] startup_wait`)";
    assert_eq!(log.matches(missing).count(), 1, "{log}");
}
