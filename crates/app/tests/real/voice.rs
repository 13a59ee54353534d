//! A household that is spoken to: real speech services, a real broker, a real Z-Wave driver over a simulated stick.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_testkit::{
    Cassette, MqttListener, Scrub, SimulatedZwave, SmallModel, SpeechService, ZwaveTransport,
};
use tempfile::TempDir;

use crate::{
    serving::{Ending, switchboard},
    sound,
};

const QUESTION: &str = "Turn on the kitchen light.";

/// All that is in the house but the model.
struct Home {
    folder: TempDir,
    household: SimulatedZwave,
    piper: SpeechService,
    whisper: SpeechService,
}

impl Home {
    fn start() -> Self {
        let (parts, folder) = (parts(), tempfile::tempdir().unwrap());
        let household =
            SimulatedZwave::start(&parts, ZwaveTransport::Mqtt, &folder.path().join("zwave"));
        household.name(2, "Kitchen Light", "Kitchen");
        let (piper, whisper) = (SpeechService::piper(&parts), SpeechService::whisper(&parts));
        Self { folder, household, piper, whisper }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Somebody who hears what the gateway tells the household.
    fn listen(&self) -> MqttListener {
        self.household.broker.as_ref().unwrap().listen("voice/#")
    }

    /// `switchboard voice` with these settings before, and these further ones of its own; answers go to a WAV file.
    fn voice(&self, before: &str, own: &str, words: &[&str]) -> Command {
        let broker = self.household.url();
        let config = format!(
            "{before}\n\
             [servers.zwave]\ncommand = '{}'\nargs = ['zwave']\nprefix = ''\n\
             [zwave]\nmqtt = '{broker}'\n\
             [voice]\nmqtt = '{broker}'\nstt = {{ url = '{}', language = 'en', timeout = '5m' }}\n\
             tts = {{ url = '{}', timeout = '5m' }}\n\
             output = 'wav:answer.wav'\n{own}\n",
            env!("CARGO_BIN_EXE_switchboard"),
            self.whisper.url(),
            self.piper.url(),
        );
        fs::write(self.path("switchboard.toml"), config).unwrap();
        switchboard(self.folder.path(), &[&["voice", "--json"], words].concat())
    }

    /// The calls that were made, oldest first.
    fn calls(&self) -> Vec<Value> {
        let output = switchboard(self.folder.path(), &["calls", "--json"]).output().unwrap();
        let mut calls: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        calls.reverse();
        calls
    }
}

/// Runs it to its end; what it printed, line by line.
async fn to_the_end(mut command: Command) -> Vec<Value> {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// HM-1, HM-2, AN-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_so_has_light() {
    let home = Home::start();
    let script = json!({"turns": [
        {"expect": "kitchen light", "tool_calls": [
            {"name": "control_zwave_device", "args": {"device_name": "Kitchen Light", "command": "on"}}]},
        {"expect": "confirmed by the device", "text": "The **kitchen light** is on."},
    ]});
    fs::write(home.path("script.json"), script.to_string()).unwrap();
    sound::write(&home.path("question.wav"), &sound::spoken(&home.piper, QUESTION).await);
    assert!(!home.household.is_switch_on());
    let listener = home.listen();

    let command = home.voice("", "", &["-m", "script:script.json", "--source", "wav:question.wav"]);
    let printed = to_the_end(command).await;

    assert!(home.household.is_switch_on(), "{printed:#?}");
    let transcription = listener.hear("voice/transcription");
    sound::assert_heard(transcription["text"].as_str().unwrap(), QUESTION);
    assert_eq!(transcription["source"], "wav", "{transcription}");
    let answer = listener.hear("voice/ai-response");
    assert_eq!(answer["question"], transcription["text"], "{answer}");
    assert_eq!(answer["answer"], "The kitchen light is on.", "{answer}");
    let calls = home.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    // Recorded as it was asked; the server knows only deviceName and action.
    assert_eq!(calls[0]["arguments"], script["turns"][0]["tool_calls"][0]["args"], "{calls:?}");
    assert_eq!(calls[0]["outcome"], "ok", "{calls:?}");
    let said = sound::heard(&home.whisper, &home.path("answer.wav")).await;
    sound::assert_heard(&said, "The kitchen light is on.");
}

// HM-2, ML-4: the model's prose is junk, so only its call is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_model_makes_light() {
    let home = Home::start();
    let model = SmallModel::start(&parts());
    let tape = Cassette::record(model.url(), home.path("tape.json"), Scrub::default()).await;
    let tape = tape.unwrap();
    let settings = format!(
        "[models.small]\nprovider = 'openai'\nmodel = '{}'\nbase_url = '{}/v1'\napi_key = 'none'\ntemperature = 0\n\
         max_tokens = 64\nidle_timeout = '5m'\ntools = ['control_zwave_device']\n",
        SmallModel::NAME,
        tape.url()
    );
    sound::write(&home.path("question.wav"), &sound::spoken(&home.piper, QUESTION).await);
    let devices = "Devices: kitchen light, bedroom light, garage door.";
    let words = ["-m", "small", "--source", "wav:question.wav", "--max-iterations", "2"];
    let command = home.voice(&settings, "", &[&words[..], &["--system", devices]].concat());
    let printed = to_the_end(command).await;
    assert!(home.household.is_switch_on(), "{printed:#?}");

    // What came of it went back to the model.
    let exchanges = tape.settled().await;
    assert_eq!(exchanges.len(), 2, "{printed:#?}");
    let messages = exchanges[1].request.body["messages"].as_array().unwrap();
    let told = messages.iter().find(|message| message["role"] == "tool").unwrap();
    assert!(told["content"].as_str().unwrap().contains("confirmed by the device"), "{told}");
}

// HM-2: speech recognition is killed while it works, and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_ears_it_goes_on() {
    let mut home = Home::start();
    let script = json!({"turns": [{"text": "First."}, {"text": "Second."}, {"text": "Third."}]});
    fs::write(home.path("script.json"), script.to_string()).unwrap();
    let question = sound::spoken(&home.piper, QUESTION).await;
    let listener = home.listen();
    let words = ["-m", "script:script.json", "--source", "mqtt", "--output", "none"];
    let mut command = home.voice("", "", &words);
    let _voice = Ending(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until(&listener, "listening");
    say(&listener, &question);
    assert_eq!(listener.hear("voice/ai-response")["answer"], "First.");
    until(&listener, "listening");

    home.whisper.pause();
    say(&listener, &question);
    until(&listener, "thinking");
    home.whisper.kill();
    let error = listener.hear("voice/error");
    assert_eq!(error["stage"], "stt", "{error}");
    assert!(error["error"].as_str().unwrap().starts_with("Wyoming tcp://"), "{error}");
    until(&listener, "listening");
    listener.say("voice/request", &json!({"text": "Can you read?"}));
    assert_eq!(listener.hear("voice/ai-response")["answer"], "Second.");

    home.whisper.restart();
    say(&listener, &question);
    let heard = listener.hear("voice/transcription");
    sound::assert_heard(heard["text"].as_str().unwrap(), QUESTION);
    assert_eq!(listener.hear("voice/ai-response")["answer"], "Third.");
}

// HM-2: what is said before the wake word is nobody's business.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_listens_to_who_calls_it() {
    let home = Home::start();
    let service = SpeechService::open_wake_word(&parts());
    fs::write(home.path("script.json"), r#"{"turns": [{"text": "Yes."}]}"#).unwrap();
    let gossip = sound::spoken(&home.piper, "Have you seen the neighbours' new car?").await;
    let call = sound::spoken(&home.piper, "Hey Jarvis!").await;
    let question = sound::spoken(&home.piper, QUESTION).await;
    let listener = home.listen();
    let own = format!("wake = {{ url = '{}', model = 'hey_jarvis' }}", service.url());
    let words = ["-m", "script:script.json", "--source", "mqtt", "--output", "none"];
    let mut command = home.voice("", &own, &words);
    let _voice = Ending(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until(&listener, "listening");
    for sound in [gossip, call, question] {
        say(&listener, &sound);
    }
    let heard = listener.hear("voice/transcription");
    sound::assert_heard(heard["text"].as_str().unwrap(), QUESTION);
    assert_eq!(listener.hear("voice/ai-response")["answer"], "Yes.");
}

/// Waits until the gateway is in this state.
fn until(listener: &MqttListener, state: &str) {
    while listener.hear("voice/state")["state"] != state {}
}

/// Speaks over MQTT, as fast as people do.
fn say(listener: &MqttListener, samples: &[i16]) {
    for block in samples.chunks(1_600) {
        let bytes = block.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        listener.send("voice/audio", bytes);
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn parts() -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`")
}
