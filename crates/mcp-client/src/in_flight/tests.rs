use serde_json::{Map, Value, json};
use switchboard_toolcall::BoxFuture;

use super::*;

#[derive(Debug)]
struct TestClient {
    session: Option<Arc<str>>,
}

impl CallerChannel for TestClient {
    fn answers(&self, _: QuestionKind) -> bool {
        true
    }

    fn ask(&self, asked: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        let echo = |(key, _)| (key, json!(format!("{} asks", asked.server)));
        Box::pin(std::future::ready(Ok(asked.questions.into_iter().map(echo).collect())))
    }

    fn session(&self) -> Option<&Arc<str>> {
        self.session.as_ref()
    }
}

/// Creates the call of a caller: `caller` or `caller/session`, and `caller!` if it cannot be asked.
fn call(caller: &str) -> Arc<CallOrigin> {
    let (caller, session) = match caller.split_once('/') {
        Some((caller, session)) => (caller, Some(session.into())),
        None => (caller, None),
    };
    let (caller, can_be_asked) = match caller.strip_suffix('!') {
        Some(caller) => (caller, false),
        None => (caller, true),
    };
    let back: Arc<dyn CallerChannel> = Arc::new(TestClient { session });
    Arc::new(CallOrigin {
        caller: (!caller.is_empty()).then(|| caller.into()),
        caller_channel: can_be_asked.then_some(back),
        ..CallOrigin::default()
    })
}

/// Registers requests 1, 2, … of these callers.
fn in_flight(callers: &[&str]) -> (Arc<InFlightCalls>, Vec<Option<InFlightGuard>>) {
    let in_flight = Arc::new(InFlightCalls::default());
    let begin =
        |(id, caller): (u64, &&str)| in_flight.begin(id, &Progress::default(), Some(&call(caller)));
    let begun = (1..).zip(callers).map(begin).collect();
    (in_flight, begun)
}

fn words(recipient: &Recipient) -> String {
    match recipient {
        Recipient::Caller(question) => question.id.to_string(),
        Recipient::Unaskable(_) => "cannot be asked".to_owned(),
        Recipient::NoCall => "no call".to_owned(),
        Recipient::Unknown => "unknown".to_owned(),
    }
}

// GW-3
#[test]
fn a_question_is_for_the_only_one_it_can_be_for() {
    let asked = |callers: &[&str], during| {
        let (in_flight, _begun) = in_flight(callers);
        words(&in_flight.recipient(during, true))
    };
    assert_eq!(asked(&[], None), "no call");
    assert_eq!(asked(&["a"], None), "1");
    assert_eq!(asked(&["a!"], None), "cannot be asked");
    assert_eq!(asked(&["a", "a"], None), "unknown");
    assert_eq!(asked(&["a", "b"], None), "unknown");
    // The question may be for the caller who cannot be asked, so the other one must not see it.
    assert_eq!(asked(&["a", "b!"], None), "unknown");
    assert_eq!(asked(&["a", "a!"], None), "unknown");
    // The stream that it came on decides.
    assert_eq!(asked(&["a", "b"], Some(2)), "2");
    assert_eq!(asked(&["a", "b!"], Some(2)), "cannot be asked");
    // It came with the response to a request that is not a call, so it has no recipient.
    assert_eq!(asked(&["a"], Some(99)), "no call");
}

// GW-3
#[test]
fn who_waits_for_an_answer_asks_nothing_else() {
    let check = |callers: &[&str]| {
        let (in_flight, _begun) = in_flight(callers);
        let first = in_flight.recipient(Some(1), true);
        let second = words(&in_flight.recipient(None, true));
        drop(first);
        (second, words(&in_flight.recipient(None, true)))
    };
    let found = |second: &str, third: &str| (second.to_owned(), third.to_owned());
    assert_eq!(check(&["a/1", "a/1"]), found("2", "unknown"));
    assert_eq!(check(&["a", "a"]), found("2", "unknown"));
    // A question for one caller is never shown to another, nor in another session of the same caller.
    for askers in [["a", "b"], ["a/1", "b/1"], ["a/1", "a/2"], ["a/1", "a"], ["/1", "/2"]] {
        assert_eq!(check(&askers), found("unknown", "unknown"), "{askers:?}");
    }
    // The only caller may get two questions.
    assert_eq!(check(&["a"]), found("1", "1"));
}

// GW-3: servers request roots at any time.
#[test]
fn another_request_of_the_server_closes_no_question() {
    let (in_flight, mut begun) = in_flight(&["a"]);
    let _first = in_flight.recipient(None, true);
    drop(in_flight.recipient(None, false));
    drop(in_flight.recipient(None, true));
    begun.push(in_flight.begin(2, &Progress::default(), Some(&call("a"))));
    let _folders = in_flight.recipient(None, false);
    assert_eq!(words(&in_flight.recipient(None, true)), "2");
}

#[test]
fn a_line_of_log_is_for_the_only_one_too() {
    let (in_flight, mut begun) = in_flight(&["a", "b"]);
    assert!(in_flight.log_recipient(None).is_none());
    assert!(in_flight.log_recipient(Some(2)).is_some());
    begun.pop();
    assert!(in_flight.log_recipient(None).is_some());
}

#[tokio::test]
async fn who_is_asked_learns_which_server_asks() {
    let (in_flight, _begun) = in_flight(&["a"]);
    let Recipient::Caller(question) = in_flight.recipient(None, true) else {
        panic!("nobody is asked")
    };
    let answer = question.ask(&"forms".into(), QuestionKind::Elicit, json!({})).await;
    assert_eq!(answer.unwrap(), "forms asks");
}

// A caller whose server only reports a failure learns that a question was refused.
#[test]
fn an_error_says_that_a_question_was_refused() {
    let explained = |text: &str, hint: Option<&str>, refusals: &[&str]| {
        let call = call("a!");
        refusals.iter().for_each(|refusal| call.refused(refusal));
        let error = ToolError::failed(text);
        let error = hint.into_iter().fold(error, ToolError::with_hint);
        call.explained(error).hint
    };
    assert_eq!(explained("failed", None, &[]), None);
    assert_eq!(explained("failed", None, &["nobody there", "again"]).unwrap(), "nobody there");
    assert_eq!(explained("failed", Some("try x"), &["nobody there"]).unwrap(), "try x");
    assert_eq!(explained("error -32000: nobody there", None, &["nobody there"]), None);
}
