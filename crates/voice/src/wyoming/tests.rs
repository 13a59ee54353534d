use std::{error::Error, time::Duration};

use serde_json::{Value, json};
use switchboard_toolcall::{BoxFuture, HumanDuration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::scripted::{ScriptStep, Scripted, python};
use crate::{Blocks, Clip, Format, SpeechConfig, SpeechError, recogniser, synthesiser, wake_word};

const SOUND: &str = r#"{"rate": 22050, "width": 2, "channels": 1, "timestamp": null}"#;

/// What Piper sends for one sentence.
fn piper() -> Vec<u8> {
    [
        python("audio-start", SOUND, b""),
        python("audio-chunk", SOUND, &[1, 0, 255, 255]),
        python("audio-chunk", SOUND, &[0, 128]),
        python("audio-stop", r#"{"timestamp": null}"#, b""),
    ]
    .concat()
}

fn speech(samples: usize) -> Clip {
    Clip { format: Format::SPEECH, samples: vec![7; samples] }
}

async fn transcribed(config: &SpeechConfig) -> Result<String, SpeechError> {
    recogniser(config).unwrap().transcribe(&speech(4_000)).await
}

/// The clips, and the trouble where there was some.
async fn spoken(config: &SpeechConfig, text: &str) -> (Vec<Clip>, Option<String>) {
    let mut spoken = match synthesiser(config).unwrap().speak(text).await {
        Ok(spoken) => spoken,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut clips = Vec::new();
    while let Some(next) = spoken.recv().await {
        match next {
            Ok(clip) => clips.push(clip),
            Err(error) => return (clips, Some(error.to_string())),
        }
    }
    (clips, None)
}

/// So many blocks, and then what the source does.
struct Source(usize, ScriptStep);

impl Blocks for Source {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            if self.0 == 0 {
                return if self.1 == ScriptStep::Hang {
                    std::future::pending().await
                } else {
                    None
                };
            }
            self.0 -= 1;
            Some(vec![3; 1_280])
        })
    }
}

async fn woken(config: &SpeechConfig, mut source: Source) -> Result<String, SpeechError> {
    wake_word(config).unwrap().listen(&mut source).await
}

// HM-2
#[tokio::test]
async fn what_was_said_is_written_down() {
    let answer = python("transcript", r#"{"text": " Turn on the kitchen light."}"#, b"");
    let mut service = Scripted::start("audio-stop", answer, ScriptStep::Close).await;
    service.config.language = Some("en".to_owned());
    service.config.model = Some("base".to_owned());
    assert_eq!(transcribed(&service.config).await.unwrap(), "Turn on the kitchen light.");

    let heard = service.heard().await;
    let kinds: Vec<&str> = heard.iter().map(|event| event.kind.as_str()).collect();
    let chunk = "audio-chunk";
    assert_eq!(kinds, ["transcribe", "audio-start", chunk, chunk, chunk, "audio-stop"]);
    assert_eq!(json!(heard[0].data), json!({"name": "base", "language": "en"}));
    assert_eq!(json!(heard[1].data), json!({"rate": 16_000, "width": 2, "channels": 1}));
    let sent: Vec<u8> = heard.iter().flat_map(|event| event.payload.clone()).collect();
    assert_eq!(sent, [7, 0].repeat(4_000));
}

// HM-2
#[tokio::test]
async fn a_service_may_be_a_socket_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whisper.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let service = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let answer = python("transcript", r#"{"text": "Hello"}"#, b"");
        stream.write_all(&answer).await.unwrap();
        // Until the caller leaves, who may be sending still.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let config = SpeechConfig::new(format!("unix://{}", path.display()));
    assert_eq!(transcribed(&config).await.unwrap(), "Hello");
    service.await.unwrap();
}

// HM-2
#[tokio::test]
async fn what_else_a_service_sends_is_passed_over() {
    // Streaming recognisers send the text in pieces before the whole; old ones send data within the line.
    let answer = [
        python("transcript-start", "{}", b""),
        python("transcript-chunk", r#"{"text": "Hello"}"#, b""),
        b"{\"type\":\"transcript\",\"data\":{\"text\":\"Hello there\"},\"payload_length\":null}\n"
            .to_vec(),
    ];
    let service = Scripted::start("audio-stop", answer.concat(), ScriptStep::Hang).await;
    assert_eq!(transcribed(&service.config).await.unwrap(), "Hello there");
    let silence = python("transcript", r#"{"text": ""}"#, b"");
    let service = Scripted::start("audio-stop", silence, ScriptStep::Close).await;
    assert_eq!(transcribed(&service.config).await.unwrap(), "");
}

// HM-2
#[tokio::test]
async fn a_text_is_spoken_clip_by_clip() {
    let mut service = Scripted::start("synthesize", piper(), ScriptStep::Hang).await;
    service.config.voice = Some("en_US-joe-medium".to_owned());
    let (clips, trouble) = spoken(&service.config, "It is on.").await;
    let format = Format { rate: 22_050, channels: 1 };
    let clip = |samples: &[i16]| Clip { format, samples: samples.to_vec() };
    assert_eq!((clips, trouble), (vec![clip(&[1, -1]), clip(&[-32_768])], None));
    let heard = service.heard().await;
    let request = json!({"text": "It is on.", "voice": {"name": "en_US-joe-medium"}});
    assert_eq!(json!(heard[0].data), request);

    // Nobody is asked to say nothing.
    let nobody = SpeechConfig::new("tcp://127.0.0.1:1");
    assert_eq!(spoken(&nobody, " \n").await, (vec![], None));
}

// HM-2
#[tokio::test]
async fn whoever_stops_listening_stops_the_service() {
    let endless = python("audio-chunk", SOUND, &[0; 2_048]).repeat(1_000);
    let service = Scripted::start("synthesize", endless, ScriptStep::Hang).await;
    let mut spoken = synthesiser(&service.config).unwrap().speak("Once upon a time").await.unwrap();
    assert!(spoken.recv().await.unwrap().is_ok());
    drop(spoken);
    // It ends only when the connection does.
    assert_eq!(service.heard().await.len(), 1);
}

// HM-2
#[tokio::test]
async fn the_wake_word_is_heard() {
    let detection = r#"{"name": "okay_nabu", "timestamp": 80, "speaker": null}"#;
    let answer = python("detection", detection, b"");
    let mut service = Scripted::start("audio-chunk", answer.clone(), ScriptStep::Hang).await;
    service.config.model = Some("okay_nabu".to_owned());
    assert_eq!(woken(&service.config, Source(3, ScriptStep::Hang)).await.unwrap(), "okay_nabu");
    let heard = service.heard().await;
    assert_eq!(json!(heard[0].data), json!({"names": ["okay_nabu"]}));
    assert_eq!(heard[2].payload, [3, 0].repeat(1_280));

    // Found in what was sent last.
    let service = Scripted::start("audio-stop", answer, ScriptStep::Hang).await;
    assert_eq!(woken(&service.config, Source(1, ScriptStep::Close)).await.unwrap(), "okay_nabu");
    assert_eq!(json!(service.heard().await[0].data), json!({"names": null}));
    let service =
        Scripted::start("audio-stop", python("not-detected", "{}", b""), ScriptStep::Hang).await;
    let error = woken(&service.config, Source(1, ScriptStep::Close)).await.unwrap_err().to_string();
    assert!(error.ends_with("did not hear its word before the sound ended"), "{error}");
}

/// Answers that are none, and what is said of each.
fn hostile() -> Vec<(Vec<u8>, &'static str)> {
    let line = |text: &str| format!("{text}\n").into_bytes();
    vec![
        (
            line("HTTP/1.1 400 Bad Request"),
            r#"sent something that is not a Wyoming event: "HTTP/1.1 400 Bad Request""#,
        ),
        (line("\u{1}\u{0}\u{ff}"), "sent something that is not a Wyoming event"),
        (line("[1]"), "sent something that is not a Wyoming event"),
        (line(r#"{"kind":"transcript"}"#), "sent something that is not a Wyoming event"),
        (
            line(r#"{"type":"transcript","data_length":-1}"#),
            "sent something that is not a Wyoming event",
        ),
        (
            line(r#"{"type":"x","data_length":2}"#).into_iter().chain(*b"[]").collect(),
            "sent data of `x` that is not a JSON object",
        ),
        (vec![b'x'; 1 << 20], "sent a line of more than 65536 bytes"),
        (
            line(r#"{"type":"x","payload_length":99999999999}"#),
            "announced 99999999999 bytes of payload; at most 33554432 are read",
        ),
        (
            line(r#"{"type":"x","data_length":18446744073709551615}"#),
            "announced 18446744073709551615 bytes of data",
        ),
        (b"{\"type\": \"trans".to_vec(), "closed the connection in the middle of an event"),
        (
            line(r#"{"type":"audio-chunk","payload_length":10}"#),
            "closed the connection in the middle of an event",
        ),
        (Vec::new(), "closed the connection before it had answered"),
        (
            python("error", r#"{"text": "nobody", "code": "VoiceNotFoundError"}"#, b""),
            "answered with an error: nobody (VoiceNotFoundError)",
        ),
        (python("error", "{}", b""), "answered with an error: no reason given"),
    ]
}

// HM-2
#[tokio::test]
async fn nonsense_is_told_in_words_and_never_kept() {
    for (answer, reason) in hostile() {
        let service = Scripted::start("audio-stop", answer.clone(), ScriptStep::Close).await;
        let name = format!("Wyoming {}", service.config.url);
        let error = transcribed(&service.config).await.unwrap_err();
        assert!(matches!(error, SpeechError::Refused { .. }), "{error}");
        assert!(
            error.to_string().starts_with(&format!("{name} {reason}")),
            "{error} is not {reason}"
        );

        let service = Scripted::start("synthesize", answer.clone(), ScriptStep::Close).await;
        let (clips, trouble) = spoken(&service.config, "Hello").await;
        assert!(clips.is_empty() && trouble.unwrap().contains(reason), "{reason}");

        let service = Scripted::start("audio-stop", answer, ScriptStep::Close).await;
        let error = woken(&service.config, Source(1, ScriptStep::Close)).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error} is not {reason}");
    }
}

// HM-2
#[tokio::test]
async fn sound_that_cannot_be_played_is_refused() {
    let sound = |width: Value, rate: Value, channels: Value| {
        json!({"rate": rate, "width": width, "channels": channels}).to_string()
    };
    let chunk = |data: &str, payload: &[u8]| python("audio-chunk", data, payload);
    let good = chunk(SOUND, &[1, 0]);
    let other = chunk(&sound(json!(2), json!(16_000), json!(1)), &[1, 0]);
    let stereo = sound(json!(2), json!(8_000), json!(2));
    let cases = [
        (
            chunk(&sound(json!(4), json!(22_050), json!(1)), &[0; 4]),
            "samples of 2 bytes are needed",
        ),
        (chunk(&sound(json!(2), json!(0), json!(1)), &[0; 4]), "samples of 2 bytes are needed"),
        (
            chunk(&sound(json!(2), json!("fast"), json!(9_000)), &[0; 4]),
            "samples of 2 bytes are needed",
        ),
        (chunk("{}", &[0; 4]), "samples of 2 bytes are needed"),
        (chunk(SOUND, &[0; 3]), "sent 3 bytes of sound, which are not whole frames"),
        (chunk(&stereo, &[0; 6]), "sent 6 bytes of sound, which are not whole frames"),
        ([good.clone(), other].concat(), "changed the format in the middle of its speech"),
        (
            [good.clone(), b"garbage\n".to_vec()].concat(),
            "sent something that is not a Wyoming event",
        ),
        (good, "closed the connection before it had answered"),
    ];
    for (answer, reason) in cases {
        let service = Scripted::start("synthesize", answer, ScriptStep::Close).await;
        let (_, trouble) = spoken(&service.config, "Hello").await;
        let trouble = trouble.unwrap();
        assert!(trouble.contains(reason), "{trouble} is not {reason}");
    }
}

// HM-2
#[tokio::test]
async fn silence_has_an_end() {
    let limit = Some(HumanDuration(Duration::from_millis(200)));
    let mut service = Scripted::start("audio-stop", Vec::new(), ScriptStep::Hang).await;
    service.config.timeout = limit;
    let error = transcribed(&service.config).await.unwrap_err().to_string();
    assert!(error.ends_with("did not answer within 0.2 s"), "{error}");

    let begun = python("audio-start", SOUND, b"");
    let mut service = Scripted::start("synthesize", begun, ScriptStep::Hang).await;
    service.config.timeout = limit;
    let (clips, trouble) = spoken(&service.config, "Hello").await;
    assert!(clips.is_empty() && trouble.unwrap().ends_with("did not answer within 0.2 s"));

    // One that takes no samples, until every buffer between us is full.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = SpeechConfig::new(format!("tcp://{}", listener.local_addr().unwrap()));
    config.timeout = limit;
    let error = woken(&config, Source(usize::MAX, ScriptStep::Hang)).await.unwrap_err().to_string();
    assert!(error.ends_with("has taken no sound for 0.2 s"), "{error}");
}

// HM-2
#[tokio::test]
async fn whoever_hangs_up_on_us_is_heard_out() {
    let answer = python("error", r#"{"text": "no such model"}"#, b"");
    let service = Scripted::start("transcribe", answer, ScriptStep::Close).await;
    let recogniser = recogniser(&service.config).unwrap();
    // More than can be on the way: it is still being sent when the service has gone.
    let error = recogniser.transcribe(&speech(16_000_000)).await.unwrap_err().to_string();
    assert!(error.ends_with("answered with an error: no such model"), "{error}");
}

// HM-2
#[tokio::test]
async fn nobody_there_is_told_with_the_cause() {
    let nobody = SpeechConfig::new("tcp://127.0.0.1:1");
    let error = transcribed(&nobody).await.unwrap_err();
    assert_eq!(error.to_string(), "Wyoming tcp://127.0.0.1:1 could not be reached");
    assert!(error.source().unwrap().to_string().contains("refused"));
    let error = woken(&nobody, Source(1, ScriptStep::Hang)).await.unwrap_err();
    assert!(matches!(error, SpeechError::Unreachable { .. }), "{error}");
    let nobody = SpeechConfig::new("unix:///nowhere/piper.sock");
    let (_, trouble) = spoken(&nobody, "Hello").await;
    assert_eq!(trouble.unwrap(), "Wyoming unix:///nowhere/piper.sock could not be reached");
}
