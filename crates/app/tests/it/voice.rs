//! `switchboard voice`, before speech services that say what they are told to.

use std::{os::unix::fs::PermissionsExt, process::Command};

use serde_json::{Value, json};
use switchboard_testkit::{
    ProviderServer, Reply,
    sounds::{babble, silence, wav},
};

use crate::{
    fixture::wait_until,
    many_tools,
    test_folder::{CommandOutput, TestFolder},
};

/// A model that calculates and then answers, and one more answer.
const SCRIPT: &str = r#"{"turns": [
    {"tool_calls": [{"name": "math_eval", "args": {"expression": "2+2"}}]},
    {"text": "**Four**, of course."},
    {"text": "And that is all."}
]}"#;

fn place() -> TestFolder {
    TestFolder::new().file("script.json", SCRIPT).file("two.wav", wav(&two_sentences()))
}

/// Two things that are said.
fn two_sentences() -> Vec<i16> {
    let one = [silence(0.5), babble(1.5, 0.3), silence(2.0)].concat();
    [one.clone(), one].concat()
}

/// A speech service that understands these words.
async fn understanding(words: &[&str]) -> ProviderServer {
    ProviderServer::start(words.iter().map(|word| Reply::json(200, &json!({"text": word})))).await
}

async fn run(place: TestFolder, words: Vec<String>, stdin: Vec<u8>) -> (TestFolder, CommandOutput) {
    let run = move || {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran = place.run_with_stdin(&words, &stdin);
        (place, ran)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn words(more: &[&str]) -> Vec<String> {
    let all = [&["voice", "-m", "script:script.json"], more].concat();
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn lines(ran: &CommandOutput) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// HM-2, EX-5, EX-6: a file is answered to its end, with tools, and the answers are spoken to a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_answered() {
    let stt = understanding(&["What is two plus two?", "Thank you."]).await;
    let spoken = || Reply::new(200, "audio/wav", wav(&vec![9; 1600]));
    let tts = ProviderServer::start([spoken(), spoken()]).await;
    let (stt, tts) = (format!("{}/v1", stt.url()), format!("{}/v1", tts.url()));
    let services = ["--stt", &stt, "--tts", &tts, "--output", "wav:answer.wav", "--json"];
    let more = [&["--source", "wav:two.wav"][..], &services].concat();
    let (place, ran) = run(place(), words(&more), Vec::new()).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines = lines(&ran);
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["transcription", "answer", "transcription", "answer"], "{ran:?}");
    assert_eq!(lines[0]["text"], "What is two plus two?");
    assert_eq!(lines[0]["source"], "wav");
    assert_eq!(lines[1]["question"], "What is two plus two?");
    assert_eq!(lines[1]["answer"], "Four, of course.");
    assert_eq!(lines[3]["conversationTurns"], 2);
    for words in ["● recording", "● thinking", "● speaking", "calling math_eval", " INFO "] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    let answer = std::fs::read(place.path().join("answer.wav")).unwrap();
    assert_eq!(answer.len(), 44 + 2 * 2 * 1600);
    // The call took the one path that every call takes.
    let calls = place.run(&["calls", "--json"]).json();
    assert_eq!(calls[0]["tool"], "math_eval", "{calls}");
}

// FT-3: what is asked aloud is searched for as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_spoken_question_finds_its_tool() {
    let stt = understanding(&["Water my roses."]).await;
    let tts = ProviderServer::start([Reply::new(200, "audio/wav", wav(&vec![9; 1600]))]).await;
    let model = ProviderServer::start(many_tools::replies("openai", &many_tools::calls())).await;
    let config = many_tools::config("openai", &model.url(), "tool_budget = 100");
    let said = [silence(0.5), babble(1.5, 0.3), silence(2.0)].concat();
    let place = TestFolder::with_config(&config).file("one.wav", wav(&said));
    let (stt, tts) = (format!("{}/v1", stt.url()), format!("{}/v1", tts.url()));
    let words = ["voice", "-m", "m", "--source", "wav:one.wav", "--output", "wav:answer.wav"];
    let words = [&words[..], &["--stt", &stt, "--tts", &tts, "--json"]].concat();
    let (_place, ran) =
        run(place, words.into_iter().map(str::to_owned).collect(), Vec::new()).await;
    assert_eq!(lines(&ran).last().unwrap()["answer"], "Done.", "{ran:?}");
    let sent = many_tools::sent(&model);
    let names: Vec<_> = sent.last().unwrap().iter().map(|tool| many_tools::name(tool)).collect();
    assert_eq!(names, ["tool_search", "read_result", "water_plants", "convert_7"], "{ran:?}");
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 3, 4]);
    assert!(sent.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "a prefix stays");
}

// HM-2: stdin is a source with an end; what fails is told, and the exit status says so.
#[tokio::test(flavor = "multi_thread")]
async fn stdin_is_answered_and_failures_are_told() {
    let bytes: Vec<u8> = two_sentences().iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let stt = ProviderServer::start([
        Reply::json(500, &json!({"error": {"message": "out of memory"}})),
        Reply::json(200, &json!({"text": "What is two plus two?"})),
    ])
    .await;
    let address = format!("{}/v1", stt.url());
    let more = ["--source", "stdin", "--json", "--stt", &address];
    let (place, ran) = run(place(), words(&more), bytes.clone()).await;
    assert_eq!(ran.status, 1, "{ran:?}");
    let lines = lines(&ran);
    assert_eq!(lines[0]["stage"], "stt", "{ran:?}");
    assert_eq!(lines[2]["answer"], "Four, of course.", "{ran:?}");
    // Without a recogniser, each thing that is said is told not to be understood.
    let (place, ran) = run(place, words(&["--source", "stdin"]), bytes).await;
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    let missing = "error: stt: there is no speech recognition; name one with --stt ADDRESS";
    assert_eq!(ran.stderr.matches(missing).count(), 2, "{ran:?}");
    // Where nothing is said, nothing fails; a WAV on stdin says itself what it is.
    let (_, ran) = run(place, words(&["--source", "stdin"]), wav(&silence(2.0))).await;
    assert_eq!(ran.status, 0, "{ran:?}");
}

// HM-2
#[test]
fn what_makes_no_sense_is_told() {
    let place = place().file("text.wav", "This is no sound.");
    let cases: [(&str, &[&str], &str); 13] = [
        ("", &[], "there is nothing to listen to; name an MQTT broker"),
        ("", &["--source", "microphone"], "`microphone` is not a source; it is one of mic"),
        ("", &["--output", "loud"], "`loud` is not an output; it is one of speaker"),
        (
            "",
            &["--source", "wav:missing.wav"],
            "failed to read the sound of `missing.wav`: No such",
        ),
        (
            "",
            &["--source", "wav:text.wav"],
            "failed to read the sound of `text.wav`: Ill-formed WAVE",
        ),
        ("", &["--source", "mqtt"], "sound over MQTT needs a broker; name one with --mqtt URL"),
        ("", &["--source", "wav:two.wav", "--output", "mqtt"], "speech over MQTT needs a broker"),
        (
            "",
            &["--source", "wav:two.wav", "--output", "wav:no/a.wav"],
            "failed to write `no/a.wav`",
        ),
        ("", &["--mqtt", "http://a"], "is not an address of an MQTT broker"),
        ("", &["--mqtt", "mqtt://a", "--prefix", "a/#"], "cannot begin an MQTT topic"),
        (
            "",
            &["--mqtt", "mqtt://a", "--stt", "whisper"],
            "stt: 'whisper' is not an address of a speech",
        ),
        ("[voice]\nmemori = 3\n", &[], "did you mean `memory`?"),
        ("[voice]\nsource = \"mike\"\n", &[], "`mike` is not a source"),
    ];
    for (config, more, expected) in cases {
        std::fs::write(place.path().join("switchboard.toml"), config).unwrap();
        let words = words(more);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let refusal = place.refusal(&words);
        assert!(refusal.contains(expected), "{more:?}: {refusal}");
    }
    std::fs::write(place.path().join("switchboard.toml"), "").unwrap();
    let unknown = place.refusal(&["voice", "-m", "nobody", "--source", "wav:two.wav"]);
    assert!(unknown.contains("there is no model `nobody`"), "{unknown}");
}

/// Runs `switchboard voice` until it shows these words, then stops it; what it showed.
fn shown_until(place: &TestFolder, shown: &str) -> String {
    let log = place.path().join("err");
    let mut command = place.command(&["voice"]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut voice = command.spawn().unwrap();
    let so_far = || std::fs::read_to_string(&log).unwrap();
    wait_until(shown, || so_far().contains(shown));
    let pid = voice.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(voice.wait().unwrap().code(), Some(0), "{}", so_far());
    so_far()
}

// HM-2, MC-3: neither a broker nor a server that is not there keeps it from starting, and SIGTERM ends it.
#[test]
fn it_starts_without_anybody_and_ends_when_told() {
    let config = "[voice]\nmqtt = \"mqtt://127.0.0.1:1\"\nmodel = \"script:script.json\"\n\
                  stt = { url = \"tcp://127.0.0.1:1\", language = \"en\" }\nsource = \"none\"\n\n\
                  [servers.gone]\nurl = \"http://127.0.0.1:1/mcp\"\n";
    let place = place().file("switchboard.toml", config);
    let shown = shown_until(&place, "error: mqtt: no connection to the MQTT broker");
    // Lines of the log come from other threads, in between.
    let states: Vec<_> = shown.lines().filter(|line| line.starts_with('●')).collect();
    assert_eq!(
        (states.first(), states.last()),
        (Some(&"● listening"), Some(&"● offline")),
        "{shown}"
    );
}

// HM-2: without a recorder it says what to install, and answers what is typed.
#[test]
fn a_machine_without_sound_is_told_what_is_missing() {
    let config = "[voice]\nmqtt = \"mqtt://127.0.0.1:1\"\nmodel = \"script:script.json\"\nsource = \"mic\"\n";
    let missing = place().file("switchboard.toml", config).variable("PATH", "/nowhere");
    let shown = shown_until(&missing, "error: source: the microphone does not work");
    assert!(shown.contains("install alsa-utils (arecord, aplay)"), "{shown}");
    // A recorder that ends says why.
    let recorder = "#!/bin/sh\necho 'a step of a library' >&2\necho 'no such card' >&2\nexit 1\n";
    let broken = place().file("switchboard.toml", config).file("bin/arecord", recorder);
    let program = broken.path().join("bin/arecord");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}", broken.path().join("bin").display());
    let broken = broken.variable("PATH", &path);
    shown_until(&broken, "error: source: the microphone does not work: no such card\n");
}
