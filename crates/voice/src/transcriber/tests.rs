//! Whole turns, under the paused clock.

#[cfg(feature = "real-parts")]
mod broker;
mod test_transcriber;

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_agent::{RunState, RunStore};

use switchboard_models::Message;
use switchboard_testkit::sounds::{babble, silence};
use switchboard_toolcall::{CallId, HumanDuration};
use test_transcriber::{Failing, FakeServers, FakeWakeWord, TestPlan, TestTranscriber};
use tokio::time::{Instant, sleep};

use super::{Incoming, VoiceSummary};
use crate::{Config, config::WakeMode};

/// Something that is said, with the silence behind it.
fn sentence() -> Vec<i16> {
    [silence(0.5), babble(1.5, 0.3), silence(2.0)].concat()
}

// HM-2
#[tokio::test(start_paused = true)]
async fn states_follow_each_other_to_the_end_of_a_file() {
    let plan = TestPlan {
        is_live: false,
        understood: vec!["say **Hello**", "say Bye"],
        ..TestPlan::default()
    };
    let stage = TestTranscriber::new(plan);
    stage.give([sentence(), sentence()].concat());
    let (event_log, ended) = stage.played_out().await;
    assert_eq!(
        event_log,
        [
            "listening",
            "recording",
            "thinking",
            "heard say **Hello** from talk",
            "answer Hello. to talk #1",
            "speaking",
            "says Hello.",
            "said",
            "listening",
            "recording",
            "thinking",
            "heard say Bye from talk",
            "answer Bye. to talk #2",
            "speaking",
            "says Bye.",
            "said",
            "listening",
            "offline",
        ]
    );
    assert_eq!(ended, VoiceSummary { failures: 0 });
}

// HM-2: each stage that fails says so, and the next question is answered.
#[tokio::test(start_paused = true)]
async fn what_fails_is_told_and_life_goes_on() {
    let no_words = "says Sorry, I could not understand you: the speech recognition does not work.";
    let no_model = "says Sorry, I have no answer: the model could not be asked.";
    let cases: [(TestPlan, &str, &[&str]); 6] = [
        (
            TestPlan { understood: vec!["!is deaf", "say Hello"], ..TestPlan::default() },
            "failed stt: scribe is deaf",
            &[no_words, "answer Hello. to talk #1"],
        ),
        (
            TestPlan { has_recogniser: false, ..TestPlan::default() },
            "failed stt: there is no speech recognition; name one with --stt ADDRESS",
            &[no_words],
        ),
        (
            TestPlan { understood: vec!["fail", "say Hello"], ..TestPlan::default() },
            "failed model: it burns",
            // What was not answered is not remembered.
            &[no_model, "answer Hello. to talk #1"],
        ),
        (
            TestPlan {
                understood: vec!["call broken {}\nthen\nsay It is broken", "say Hello"],
                ..TestPlan::default()
            },
            "failed tool: broken: Error: the bulb is gone",
            &["calling broken", "says It is broken.", "answer Hello. to talk #2"],
        ),
        (
            TestPlan {
                understood: vec!["say Hi", "say Hello"],
                voice: Failing::Yes,
                ..TestPlan::default()
            },
            "failed tts: speaker is hoarse",
            &["answer Hi. to talk #1", "answer Hello. to talk #2"],
        ),
        (
            TestPlan {
                understood: vec!["say Hi", "say Hello"],
                output: Failing::Yes,
                ..TestPlan::default()
            },
            "failed output: room does not work: it has no air",
            &["answer Hi. to talk #1", "answer Hello. to talk #2"],
        ),
    ];
    for (plan, failure, others) in cases {
        let stage = TestTranscriber::new(TestPlan { is_live: false, ..plan });
        stage.give([sentence(), sentence()].concat());
        let (event_log, ended) = stage.played_out().await;
        for entry in [failure].iter().chain(others) {
            assert!(event_log.contains(&(*entry).to_owned()), "not {entry}: {event_log:?}");
        }
        let is_tool = failure.starts_with("failed tool");
        assert_eq!(ended.failures == 0, is_tool, "{event_log:?}");
    }
}

// HM-2: typed text is answered like speech, and stops what is being said.
#[tokio::test(start_paused = true)]
async fn typed_requests_are_answered() {
    let stage = TestTranscriber::new(TestPlan::default());
    stage.ask("say This is a long answer that takes its time").await;
    stage.until("says This is a long answer that takes its time.").await;
    sleep(Duration::from_millis(500)).await;
    stage.ask("call light {}\nthen\nsay It is on").await;
    stage.until("said").await;
    stage.send(Incoming::Request(Err("it is not JSON".to_owned()))).await;
    stage.until("failed request: it is not JSON").await;
    let event_log = stage.stopped().await;
    assert_eq!(
        event_log,
        [
            "listening",
            "thinking",
            "answer This is a long answer that takes its time. to request #1",
            "speaking",
            "says This is a long answer that takes its time.",
            "cut",
            "listening",
            "thinking",
            "calling light",
            "answer It is on. to request #2",
            "speaking",
            "says It is on.",
            "said",
            "listening",
            "failed request: it is not JSON",
            "offline",
        ]
    );
}

// GW-8
#[tokio::test(start_paused = true)]
async fn calls_of_spoken_requests_are_recorded_as_those_of_voice() {
    let stage = TestTranscriber::new(TestPlan::default());
    stage.ask("call light {}\nthen\nsay It is on").await;
    stage.until("said").await;
    let calls = stage.executor.history().recent(2).await.unwrap();
    assert_eq!(calls.len(), 1);
    let start = &calls[0].start;
    assert_eq!((start.client.as_deref(), start.caller.as_deref()), (Some("voice"), Some("voice")));
    stage.stopped().await;
}

// HM-2: it answers text without speech services.
#[tokio::test(start_paused = true)]
async fn without_a_voice_answers_are_told_and_not_spoken() {
    let plan = TestPlan { voice: Failing::Absent, output: Failing::Absent, ..TestPlan::default() };
    let stage = TestTranscriber::new(TestPlan { has_recogniser: false, ..plan });
    stage.ask("say Hello").await;
    stage.until("answer Hello. to request #1").await;
    stage.ask("fail").await;
    stage.until("failed model: it burns").await;
    let event_log = stage.stopped().await;
    assert!(!event_log.contains(&"speaking".to_owned()), "{event_log:?}");
}

// HM-2
#[tokio::test(start_paused = true)]
async fn speech_that_is_heard_stops_the_answer() {
    let understood = vec!["say This is a long answer that takes its time", "say Fine"];
    let stage =
        TestTranscriber::new(TestPlan { understood: understood.clone(), ..TestPlan::default() });
    stage.hear(&[sentence()]).await;
    stage.until("speaking").await;
    stage.hear(&[sentence()]).await;
    stage.until("said").await;
    let event_log = stage.stopped().await;
    let place = |entry: &str| event_log.iter().position(|known| known == entry).unwrap();
    assert!(place("cut") < place("heard say Fine from talk"), "{event_log:?}");
    assert!(event_log.contains(&"says Fine.".to_owned()), "{event_log:?}");

    // Where that is not wanted, as the microphone hears the speaker, it is nobody's request either.
    let config = Config { barge_in: Some(false), ..Config::default() };
    let stage = TestTranscriber::new(TestPlan { understood, config, ..TestPlan::default() });
    stage.hear(&[sentence()]).await;
    stage.until("speaking").await;
    stage.hear(&[sentence()]).await;
    stage.until("said").await;
    let event_log = stage.stopped().await;
    assert!(
        event_log.contains(&"ignored: it was heard while we spoke".to_owned()),
        "{event_log:?}"
    );
    assert!(!event_log.contains(&"cut".to_owned()), "{event_log:?}");
}

// HM-2
#[tokio::test(start_paused = true)]
async fn what_is_remembered_has_a_limit() {
    let config =
        Config { memory: 2, prompt: Some("You are a lamp.".to_owned()), ..Config::default() };
    let stage =
        TestTranscriber::new(TestPlan { config, voice: Failing::Absent, ..TestPlan::default() });
    for (text, turns) in [("one", 1), ("two", 2), ("three", 2), ("four", 2)] {
        stage.ask(&format!("say {text}")).await;
        stage.until(&format!("answer {text}. to request #{turns}")).await;
    }
    let last = stage.parrot.asked().pop().unwrap().messages;
    let questions: Vec<_> = last
        .iter()
        .filter_map(|message| match message {
            Message::User(user) => Some(user.content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(questions, ["say three", "say four"]);
    let Some(Message::System(prompt)) = last.first() else { panic!("no prompt: {last:?}") };
    assert!(prompt.starts_with("You are a lamp.") && prompt.contains("no Markdown"), "{prompt}");
    stage.stopped().await;
}

// HM-2
#[tokio::test(start_paused = true)]
async fn what_is_no_request_is_ignored_with_a_reason() {
    let min_speech = HumanDuration(Duration::from_millis(800));
    let config = Config { min_speech, ..Config::default() };
    let plan = TestPlan { config, is_live: false, understood: vec!["  "], ..TestPlan::default() };
    let stage = TestTranscriber::new(plan);
    stage.give([sentence(), silence(0.5), babble(0.3, 0.3), silence(2.0)].concat());
    let (event_log, ended) = stage.played_out().await;
    assert!(event_log.contains(&"ignored: nothing was understood".to_owned()), "{event_log:?}");
    let is_short = |entry: &String| entry.starts_with("ignored: too short: ");
    assert!(event_log.iter().any(is_short), "{event_log:?}");
    assert_eq!(ended, VoiceSummary { failures: 0 });
}

// HM-2: sound over a network that stops in the middle of a word has said what it had to say.
#[tokio::test(start_paused = true)]
async fn a_live_source_that_falls_silent_is_answered() {
    let stage =
        TestTranscriber::new(TestPlan { understood: vec!["say Hello"], ..TestPlan::default() });
    stage.hear(&[silence(0.5), babble(1.5, 0.3)]).await;
    stage.until("answer Hello. to talk #1").await;
    stage.stopped().await;
}

// HM-2
#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_open_is_tried_again_and_told_once() {
    let stage = TestTranscriber::new(TestPlan {
        understood: vec!["say Hello"],
        closed: 4,
        ..TestPlan::default()
    });
    sleep(Duration::from_secs(60)).await;
    // Typed text is answered meanwhile.
    stage.ask("say Still here").await;
    stage.hear(&[sentence()]).await;
    stage.until("answer Hello. to talk #2").await;
    let event_log = stage.stopped().await;
    let failures = event_log.iter().filter(|entry| entry.starts_with("failed source"));
    assert_eq!(failures.collect::<Vec<_>>(), ["failed source: talk does not work: nobody talks"]);
    assert!(event_log.contains(&"says I cannot hear anything. I will keep trying.".to_owned()));
}

// HM-2
#[tokio::test(start_paused = true)]
async fn after_a_wake_word_one_thing_is_heard() {
    let word = Arc::new(FakeWakeWord { after: 20, fails: AtomicUsize::new(1) });
    let wake = Some(WakeMode::Word(crate::SpeechConfig::new("tcp://x")));
    let config = Config { wake, barge_in: Some(true), ..Config::default() };
    let understood = vec!["say Hello"];
    let stage = TestTranscriber::new(TestPlan {
        config,
        understood,
        wake_word: Some(word),
        ..TestPlan::default()
    });
    // The word is not heard at first, and what is said without it is nobody's request.
    stage.hear(&[silence(3.0), sentence()]).await;
    stage.until("answer Hello. to talk #1").await;
    // Called, and then nothing is said.
    stage.hear(&[silence(12.0)]).await;
    stage.until("ignored: nothing was said after the call").await;
    let event_log = stage.stopped().await;
    assert!(event_log.contains(&"failed wake: name does not listen".to_owned()), "{event_log:?}");
    assert!(event_log.contains(&"called computer".to_owned()), "{event_log:?}");
}

// HM-2
#[tokio::test(start_paused = true)]
async fn a_button_lets_it_listen_and_stop() {
    let config = Config { wake: Some(WakeMode::Push), ..Config::default() };
    let stage = TestTranscriber::new(TestPlan {
        config,
        understood: vec!["say Hello", "say Bye"],
        ..TestPlan::default()
    });
    stage.hear(&[sentence()]).await;
    assert_eq!(*stage.event_log.borrow(), ["listening"]);
    stage.send(Incoming::Listen).await;
    stage.hear(&[silence(0.5), babble(1.5, 0.3)]).await;
    stage.send(Incoming::Enough).await;
    stage.until("answer Hello. to talk #1").await;
    // Until it is pressed again, nothing is heard.
    stage.hear(&[sentence()]).await;
    stage.send(Incoming::Listen).await;
    stage.hear(&[sentence()]).await;
    stage.until("answer Bye. to talk #2").await;
    stage.stopped().await;
}

// HM-2
#[tokio::test(start_paused = true)]
async fn too_many_requests_are_refused() {
    let stage = TestTranscriber::new(TestPlan::default());
    stage.ask("hang").await;
    for number in 0..20 {
        stage.ask(&format!("say {number}")).await;
    }
    let full = "failed request: 16 requests are waiting; this one was dropped: say 16";
    stage.until(full).await;
    // What hangs does not keep us from going.
    assert_eq!(stage.stopped().await.pop().as_deref(), Some("offline"));
}

// TL-6: a question waits for the tools of servers that are connecting, and says so; the next one does not.
#[tokio::test(start_paused = true)]
async fn a_question_waits_for_servers_that_are_connecting() {
    let servers = FakeServers {
        names: vec!["zwave".to_owned(), "time".to_owned()],
        until: Instant::now() + Duration::from_secs(10),
    };
    let stage = TestTranscriber::new(TestPlan { servers, ..TestPlan::default() });
    stage.ask("say Hello").await;
    sleep(Duration::from_millis(9_900)).await;
    assert_eq!(*stage.event_log.borrow(), ["listening", "thinking", "connecting zwave, time"]);
    stage.until("answer Hello. to request #1").await;
    assert_eq!(stage.event_log.borrow()[3], "thinking");
    stage.ask("say Again").await;
    stage.until("answer Again. to request #2").await;
    let event_log = stage.stopped().await;
    assert_eq!(
        event_log.iter().filter(|line| line.starts_with("connecting")).count(),
        1,
        "{event_log:?}"
    );
}

// HM-2: the loss of the broker is told aloud, as it cannot be told there.
#[tokio::test(start_paused = true)]
async fn the_loss_of_the_broker_is_said_aloud() {
    let stage = TestTranscriber::new(TestPlan::default());
    stage.send(Incoming::Lost("no connection".to_owned())).await;
    stage.until("says I have no connection to the household. I will keep trying.").await;
    let event_log = stage.stopped().await;
    assert!(event_log.contains(&"failed mqtt: no connection".to_owned()), "{event_log:?}");
}

/// Leaves a question of this client as a process that was killed leaves it, asked so many seconds ago, with the light switched.
fn leave_unanswered(folder: &Path, client: &str, seconds: u64) -> CallId {
    let id = CallId::generate_at(SystemTime::now() - Duration::from_secs(seconds));
    let said = "call light {}\nthen\nsay It is on";
    let start = json!({"id": id, "model": "m", "started": "2026-11-18T12:00:00Z", "client": client,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": said}]});
    let call = json!({"id": "c0", "name": "light", "args": {}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let reply = json!({"role": "tool", "content": "on", "tool_call_id": "c0", "is_error": false});
    let lines = [
        json!({"start": start}),
        json!({"turn": {"message": message, "stop": "tool_use", "usage": usage}}),
        json!({"began": {"position": 0, "honours_keys": false}}),
        json!({"reply": {"position": 0, "reply": reply, "outcome": "ok", "call_id": null}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join(format!("runs/{id}.live")), text).unwrap();
    id
}

// RN-2
#[tokio::test(start_paused = true)]
async fn a_question_that_was_interrupted_is_answered_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let id = leave_unanswered(folder.path(), "voice", 30);
    let runs = Some(RunStore::within(folder.path()));
    let stage = TestTranscriber::new(TestPlan { runs, ..TestPlan::default() });
    stage.until("said").await;
    stage.ask("say Hello").await;
    stage.until("answer Hello. to request #2").await;
    let event_log = stage.stopped().await;
    // The light is not switched again, and the memory goes on where it was.
    let expected =
        ["listening", "thinking", "answer It is on. to resumed #1", "speaking", "says It is on."];
    assert_eq!(event_log[..5], expected, "{event_log:?}");
    let shown = RunStore::within(folder.path()).show(id).unwrap();
    assert_eq!((shown.summary.state, shown.answer.as_deref()), (RunState::Ended, Some("It is on")));
}

// RN-2: nobody waits for the answer any more, or somebody else goes on with it.
#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let old = leave_unanswered(folder.path(), "voice", 11 * 60);
    let others = leave_unanswered(folder.path(), "ask", 1);
    let store = RunStore::within(folder.path());
    let stage = TestTranscriber::new(TestPlan { runs: Some(store.clone()), ..TestPlan::default() });
    stage.ask("say Hello").await;
    stage.until("said").await;
    let event_log = stage.stopped().await;
    assert_eq!(event_log[2], "answer Hello. to request #1", "{event_log:?}");
    for id in [old, others] {
        assert_eq!(store.summary(id).unwrap().state, RunState::Interrupted);
    }
}
