//! The messages, as SPEC HM-2 has them.

use serde_json::{Value, json};

use super::Incoming;
use crate::{Stage, VoiceEvent, VoiceState, event::now};

/// Where speech goes, as a WAV.
pub(super) const SPEECH: &str = "speech";
/// Where sound comes in.
pub(super) const SOUND: &str = "audio";
/// Where states go.
pub(super) const STATE: &str = "state";
const REQUEST: &str = "request";
const LISTEN: &str = "listen";

/// The topics below the prefix that are read.
pub(super) fn read(takes_sound: bool) -> impl Iterator<Item = &'static str> {
    [REQUEST, LISTEN].into_iter().chain(takes_sound.then_some(SOUND))
}

/// Returns the topic and the payload of an event; `None` if it is not published.
pub(super) fn of(news: &VoiceEvent) -> Option<(&'static str, Vec<u8>)> {
    let (topic, payload) = match news {
        VoiceEvent::State(VoiceState::Connecting(servers)) => {
            (STATE, json!({"state": "connecting", "servers": servers, "timestamp": now()}))
        }
        VoiceEvent::State(state) => (STATE, json!({"state": state.word(), "timestamp": now()})),
        VoiceEvent::Transcription(transcription) => ("transcription", json!(transcription)),
        VoiceEvent::Answer(answer) => ("ai-response", json!(answer)),
        // It would arrive after the reconnect, when it is no longer true.
        VoiceEvent::Failure(failure) if failure.stage == Stage::Mqtt => return None,
        VoiceEvent::Failure(failure) => ("error", json!(failure)),
        VoiceEvent::Called(_) | VoiceEvent::Ignored(_) | VoiceEvent::Calling(_) => return None,
    };
    Some((topic, payload.to_string().into_bytes()))
}

/// Returns the last will.
pub(super) fn will() -> Vec<u8> {
    json!({"state": VoiceState::Offline.word()}).to_string().into_bytes()
}

/// Parses a message on a topic below the prefix.
pub(super) fn meaning(topic: &str, payload: &[u8]) -> Option<Incoming> {
    match topic {
        REQUEST => Some(Incoming::Request(request(payload))),
        LISTEN => {
            let text = String::from_utf8_lossy(payload).trim().to_ascii_lowercase();
            let is_end = ["stop", "off", "false", "0"].contains(&text.as_str());
            Some(if is_end { Incoming::Enough } else { Incoming::Listen })
        }
        SOUND => Some(Incoming::Sound(payload.to_vec())),
        _ => None,
    }
}

/// Returns the text of a request, or what is wrong with it.
fn request(payload: &[u8]) -> Result<String, String> {
    let wrong = |what: &str| format!("a request must be {{\"text\":\"…\"}}, but {what}");
    let message: Value = serde_json::from_slice(payload)
        .map_err(|error| wrong(&format!("it is not JSON ({error})")))?;
    match &message["text"] {
        Value::String(text) if text.trim().is_empty() => Err(wrong("`text` is empty")),
        Value::String(text) => Ok(text.trim().to_owned()),
        Value::Null => Err(wrong("`text` is missing")),
        _ => Err(wrong("`text` is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnswerEvent, FailureEvent, Transcription};

    // HM-2
    #[test]
    fn requests_are_read_or_it_is_said_what_is_wrong() {
        let cases = [
            (r#"{"text":" What time is it? ","from":"phone"}"#, Ok("What time is it?")),
            ("turn on the light", Err("it is not JSON")),
            ("", Err("it is not JSON")),
            (r#"{"txt":"a"}"#, Err("`text` is missing")),
            (r#""hello""#, Err("`text` is missing")),
            (r#"{"text":5}"#, Err("`text` is not a string")),
            (r#"{"text":"  "}"#, Err("`text` is empty")),
        ];
        for (payload, expected) in cases {
            match (request(payload.as_bytes()), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(problem), Err(words)) => assert!(problem.contains(words), "{problem}"),
                (read, expected) => panic!("{payload}: {read:?}, not {expected:?}"),
            }
        }
    }

    // HM-2
    #[test]
    fn messages_have_the_fields_of_the_contract() {
        let text = |text: &str| text.to_owned();
        let transcription = Transcription {
            text: text("hi"),
            timestamp: text("T"),
            source: text("mic"),
            duration: 1.25,
        };
        let answer = AnswerEvent {
            question: text("hi"),
            answer: text("ho"),
            timestamp: text("T"),
            source: text("mic"),
            model: text("m"),
            provider: text("ollama"),
            conversation_turns: 2,
            duration: 0.5,
        };
        let failure = |stage| {
            VoiceEvent::Failure(FailureEvent { stage, error: text("no"), timestamp: text("T") })
        };
        let cases = [
            (
                VoiceEvent::Transcription(transcription),
                Some((
                    "transcription",
                    r#"{"text":"hi","timestamp":"T","source":"mic","duration":1.25}"#,
                )),
            ),
            (
                VoiceEvent::Answer(answer),
                Some((
                    "ai-response",
                    r#"{"question":"hi","answer":"ho","timestamp":"T","source":"mic","model":"m","provider":"ollama","conversationTurns":2,"duration":0.5}"#,
                )),
            ),
            (
                failure(Stage::Stt),
                Some(("error", r#"{"stage":"stt","error":"no","timestamp":"T"}"#)),
            ),
            (failure(Stage::Mqtt), None),
            (VoiceEvent::Ignored(text("too short")), None),
        ];
        for (news, expected) in cases {
            let message = of(&news);
            let message =
                message.map(|(topic, payload)| (topic, String::from_utf8(payload).unwrap()));
            assert_eq!(message.as_ref().map(|(topic, text)| (*topic, text.as_str())), expected);
        }
        let (topic, payload) = of(&VoiceEvent::State(VoiceState::Thinking)).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!((topic, &payload["state"]), ("state", &json!("thinking")));
        assert!(payload["timestamp"].as_str().unwrap().ends_with('Z'), "{payload}");
        // TL-6
        let (_, payload) =
            of(&VoiceEvent::State(VoiceState::Connecting(vec![text("zwave")]))).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(
            (&payload["state"], &payload["servers"]),
            (&json!("connecting"), &json!(["zwave"]))
        );
    }

    // HM-2
    #[test]
    fn a_button_can_be_pressed_and_let_go() {
        for (payload, is_end) in [("", false), ("start", false), ("STOP", true), ("false", true)] {
            let read = meaning("listen", payload.as_bytes());
            assert_eq!(matches!(read, Some(Incoming::Enough)), is_end, "{payload}");
        }
        assert!(meaning("state", b"").is_none());
    }
}
