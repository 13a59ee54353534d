//! `switchboard voice` at a real broker, killed and stopped.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use switchboard_testkit::Mosquitto;

use crate::serving::{Ending, switchboard, wait_for};

fn voice(folder: &Path, broker: &Mosquitto) -> Ending {
    fs::write(folder.join("script.json"), r#"{"turns": [{"text": "Four."}]}"#).unwrap();
    let url = broker.url();
    let words = ["voice", "--mqtt", &url, "-m", "script:script.json", "--source", "none"];
    let mut command = switchboard(folder, &words);
    Ending(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

// HM-2: who kills it hears of its end by its last will; who stops it, by itself.
#[test]
fn its_end_is_heard_of() {
    for signal in ["-KILL", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start();
        let household = broker.listen("voice/#");
        let mut voice = voice(folder.path(), &broker);
        assert_eq!(household.hear("voice/state")["state"], "listening");
        household.say("voice/request", &json!({"text": "What is 2+2?"}));
        assert_eq!(household.hear("voice/ai-response")["answer"], "Four.");
        assert_eq!(household.hear("voice/state")["state"], "listening");
        let pid = voice.0.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let last = household.hear("voice/state");
        assert_eq!(last["state"], "offline");
        // A will is written before the end.
        assert_eq!(last["timestamp"].is_null(), signal == "-KILL", "{last}");
        let status = wait_for("the end", || voice.0.try_wait().unwrap());
        assert_eq!(status.success(), signal == "-TERM");
        // It is retained, for who comes later.
        assert_eq!(broker.listen("voice/state").hear("voice/state")["state"], "offline");
    }
}
