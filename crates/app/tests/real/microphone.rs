//! `switchboard voice` with a real sound server.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use switchboard_testkit::{
    ProviderServer, Reply,
    sounds::{babble, silence, wav},
};

use crate::serving::{Ending, switchboard, wait_for};

/// A PulseAudio whose microphone hears what its speaker plays.
fn sound_server(folder: &Path) -> (Ending, String) {
    let socket = format!("unix:{}", folder.join("pulse.socket").display());
    let protocol = format!(
        "--load=module-native-protocol-unix socket={} auth-anonymous=1",
        &socket["unix:".len()..]
    );
    let mut pulseaudio = Command::new("pulseaudio");
    pulseaudio.args(["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"]);
    pulseaudio.args(["--disable-shm=true", "--load=module-null-sink", &protocol]);
    pulseaudio.env("HOME", folder).env("XDG_RUNTIME_DIR", folder);
    pulseaudio.stdout(Stdio::null()).stderr(Stdio::null());
    let server = Ending(pulseaudio.spawn().expect("pulseaudio is installed: `cargo xtask parts`"));
    let is_there = || {
        let mut pactl = Command::new("pactl");
        pactl.arg("info").env("PULSE_SERVER", &socket).stdout(Stdio::null()).stderr(Stdio::null());
        pactl.status().unwrap().success().then_some(())
    };
    wait_for("pulseaudio", is_there);
    (server, socket)
}

// HM-2: from the microphone to the speaker.
#[tokio::test(flavor = "multi_thread")]
async fn the_microphone_is_heard_and_the_speaker_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (_server, socket) = sound_server(path);
    let stt = ProviderServer::start([Reply::json(200, &json!({"text": "What is 2+2?"}))]).await;
    let tts = ProviderServer::start([Reply::new(200, "audio/wav", wav(&silence(0.3)))]).await;
    fs::write(path.join("script.json"), r#"{"turns": [{"text": "Four."}]}"#).unwrap();
    fs::write(path.join("said.wav"), wav(&[babble(2.0, 0.3), silence(3.0)].concat())).unwrap();
    let config = format!(
        "[voice]\nmodel = \"script:script.json\"\nstt = \"{}/v1\"\ntts = \"{}/v1\"\n",
        stt.url(),
        tts.url()
    );
    fs::write(path.join("switchboard.toml"), config).unwrap();
    let mut command = switchboard(path, &["voice", "--json"]);
    command.env("PULSE_SERVER", &socket).stdout(File::create(path.join("out")).unwrap());
    command.stderr(File::create(path.join("err")).unwrap());
    let _voice = Ending(command.spawn().unwrap());
    wait_for("an answer", || is_heard(path, &socket).then_some(()));
    let spoken = || {
        let shown = fs::read_to_string(path.join("err")).unwrap();
        let (_, after) = shown.split_once("● speaking")?;
        // What is played once more, because it took long, is not of interest.
        after.split_once("● listening").map(|(turn, _)| turn.to_owned())
    };
    let after = wait_for("the answer to be spoken", spoken);
    assert!(!after.contains("error:"), "{after}");
    assert_eq!(tts.captured()[0].body["input"], "Four.");
}

/// Says it once more, as the microphone may need a moment, and looks for an answer.
fn is_heard(path: &Path, socket: &str) -> bool {
    let mut paplay = Command::new("paplay");
    let played = paplay.arg(path.join("said.wav")).env("PULSE_SERVER", socket).status();
    assert!(played.unwrap().success());
    fs::read_to_string(path.join("out")).unwrap().contains("\"answer\":\"Four.\"")
}

// HM-2: cpal needs no recorder, and there is none on this PATH.
#[tokio::test(flavor = "multi_thread")]
async fn the_card_is_heard_without_a_recorder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (_server, socket) = sound_server(path);
    let stt = ProviderServer::start([Reply::json(200, &json!({"text": "What is 2+2?"}))]).await;
    fs::write(path.join(".asoundrc"), "pcm.!default { type pulse }\nctl.!default { type pulse }\n")
        .unwrap();
    fs::write(path.join("script.json"), r#"{"turns": [{"text": "Four."}]}"#).unwrap();
    fs::write(path.join("said.wav"), wav(&[babble(2.0, 0.3), silence(3.0)].concat())).unwrap();
    let stt = format!("{}/v1", stt.url());
    let words = ["voice", "--json", "-m", "script:script.json", "--stt", &stt, "--output", "none"];
    let mut command = switchboard(path, &words);
    command.env("PATH", path).env("HOME", path).env("PULSE_SERVER", &socket);
    command.stdout(File::create(path.join("out")).unwrap());
    command.stderr(File::create(path.join("err")).unwrap());
    let _voice = Ending(command.spawn().unwrap());
    wait_for("an answer", || is_heard(path, &socket).then_some(()));
}
