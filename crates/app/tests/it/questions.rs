//! Servers that ask something in the middle of a call: at a terminal, and where nobody can be asked.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    fixture::section,
    pty::{self, Shown},
    serve::Serving,
    test_folder::TestFolder,
};

const CANNOT_BE_ASKED: &str = "MCP server 'forms' asked a question ('elicitation/create'), and this caller cannot be \
    asked; call it from a terminal, the console or an MCP client that supports elicitation";

fn place(modes: &str) -> TestFolder {
    TestFolder::with_config(&section("forms", modes))
}

/// The arguments with which the server asks this.
fn asks(method: &str, params: &Value) -> String {
    json!({"method": method, "params": params}).to_string()
}

fn elicits(schema: &Value) -> String {
    asks("elicitation/create", &json!({"message": "Who are you?", "requestedSchema": schema}))
}

fn command(place: &TestFolder, args: &str) -> Command {
    let mut command = place.command(&["call", "forms__ask_client", args]);
    command.env("NO_COLOR", "1");
    command
}

/// Calls on a terminal; what is typed is typed where its first text is shown.
fn typed(place: &TestFolder, args: &str, keys: &[(&str, &str)]) -> Shown {
    pty::run(command(place, args), keys)
}

fn person() -> Value {
    json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": {"type": "string", "title": "Full name", "description": "As in your passport"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 36},
            "pet": {"type": "string", "oneOf": [{"const": "c", "title": "Cat"}, {"const": "d", "title": "Dog"}]},
            "news": {"type": "boolean"},
        },
    })
}

#[test]
fn each_field_is_asked_for_until_it_fits() {
    let shown = typed(
        &place("asks"),
        &elicits(&person()),
        &[
            ("Answer?", "y"),
            ("  name: ", "\n"),
            ("✗ it is required", "Ada Lövelace\n"),
            ("age [Enter: 36, -: leave out]: ", "old\n"),
            ("✗ it must be a whole number from 0 to 150", "\n"),
            ("1) Cat (c)", "2\n"),
            ("news [Enter: leave out]: ", "\n"),
            ("Send it?", "y"),
        ],
    );
    let text = &shown.text;
    assert_eq!(shown.status, 0, "{text}");
    for part in [
        "? MCP server forms asks you (in the call of forms__ask_client)",
        "│ Who are you?",
        "4 fields, 1 required. Answer? [y]es, [n]o, decline, [c]ancel",
        "1/4 name – Full name (text, required)",
        "│ As in your passport",
        "2/4 age (a whole number from 0 to 150, optional)",
        "answered",
        r#""content":{"name":"Ada Lövelace","age":36,"pet":"d"}"#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_question_can_be_declined_and_cancelled() {
    let place = place("asks");
    let interrupt = "\x03";
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("Answer?", "n")], "decline"),
        (&[("Answer?", "c")], "cancel"),
        (&[("Answer?", interrupt)], "cancel"),
        (&[("Answer?", "y"), ("  name: ", "A"), ("  name: A", interrupt)], "cancel"),
        (&[("Answer?", "y"), ("  name: ", "\x04")], "cancel"),
        (
            &[
                ("Answer?", "y"),
                ("  name: ", "A\n"),
                ("age [", "\n"),
                ("pet [", "\n"),
                ("news [", "\n"),
                ("Send it?", "n"),
            ],
            "decline",
        ),
    ];
    for (keys, action) in cases {
        let Shown { status, text } = typed(&place, &elicits(&person()), keys);
        // The call goes on: only the question was cancelled.
        assert_eq!(status, 0, "{action}\n{text}");
        let answer = format!(r#"{{"action":"{action}"}}"#);
        assert!(text.contains(&answer), "{action}\n{text}");
    }
}

#[test]
fn answers_can_be_given_again() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let keys = [
        ("Answer?", "y"),
        ("n [Enter: leave out]: ", "1\n"),
        ("Send it?", "a"),
        ("Send it? [y]es, [n]o, decline, [a]gain, [c]ancel\r\n\r\n  1/1 n", "2\n"),
        ("\"n\": 2", "y"),
    ];
    let Shown { status, text } = typed(&place("asks"), &elicits(&schema), &keys);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains(r#""content":{"n":2}"#), "{text}");
}

#[test]
fn a_page_is_shown_with_its_host_and_never_opened() {
    let page = asks(
        "elicitation/create",
        &json!({"mode": "url", "message": "Sign in", "url": "https://bank.example@evil.example/x", "elicitationId": "1"}),
    );
    let Shown { text, .. } = typed(&place("asks"), &page, &[("Go on?", "y")]);
    assert!(text.contains("? MCP server forms wants you to open a page in your browser"), "{text}");
    assert!(text.contains("Host:    evil.example"), "{text}");
    assert!(text.contains("Address: https://bank.example@evil.example/x"), "{text}");
    assert!(text.contains(r#"{"action":"accept"}"#), "{text}");
}

/// What a server sends cannot command the terminal, nor pretend to be ours.
#[test]
fn a_hostile_question_is_shown_as_text() {
    let long = "x ".repeat(38);
    let message = format!("Hello\u{1b}[2J\u{202e}\r\n? Allow it? [y]es\n{long}? Allow that?");
    let schema = json!({"type": "object", "properties": {"a\u{1b}]0;x": {"type": "string", "title": "\u{9b}31m", "enum": ["\u{202e}b"]}}});
    let args = asks("elicitation/create", &json!({"message": message, "requestedSchema": schema}));
    let keys = [("Answer?", "y"), ("by number or name", "1\n"), ("Send it?", "y")];
    let Shown { text, .. } = typed(&place("asks"), &args, &keys);
    assert!(
        !text.contains("\u{1b}[2J") && !text.contains('\u{202e}') && !text.contains('\u{9b}'),
        "{text}"
    );
    assert!(text.contains("  │ Hello\\u{1b}[2J\\u{202e}\r\n  │ ? Allow it? [y]es"), "{text}");
    assert!(
        text.contains("  │ ? Allow that?"),
        "the bar is in front of what would not fit: {text}"
    );
    assert!(text.contains("a\\u{1b}]0;x"), "{text}");
    assert!(text.contains("action"), "{text}");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let place = place("asks");
    let fields: serde_json::Map<_, _> =
        (0..1000).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
    let many = elicits(&json!({"type": "object", "properties": fields}));
    let nested = elicits(&json!({"type": "object", "properties": {"x": {"type": "object"}}}));
    let cases = [
        (many, "asked a question ('elicitation/create') that cannot be shown: it has 1000 fields"),
        (nested, "that cannot be shown: its field 'x' is of the type"),
        (
            asks("roots/list", &json!({})),
            "asked for folders ('roots/list'), and this caller cannot be asked",
        ),
    ];
    for (args, expected) in cases {
        let Shown { status, text } = typed(&place, &args, &[]);
        assert_eq!(status, 1, "{text}");
        let flat = text.replace("\r\n", "");
        assert!(flat.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn without_a_terminal_the_server_is_refused_at_once() {
    for modes in ["asks", "asks,modern"] {
        let place = place(modes);
        let args = elicits(&person());
        let envelope = place.call(&["forms__ask_client", &args]);
        assert_eq!(envelope["success"], false, "{modes} {envelope}");
        assert!(
            envelope["error"].as_str().is_some_and(|error| error.contains(CANNOT_BE_ASKED)),
            "{envelope}"
        );
        assert!(envelope.get("hint").is_none(), "said once: {envelope}");
    }
    // A server that keeps it to itself: then the hint says it.
    let quiet = json!({"method": "elicitation/create", "params": {"message": "?"}, "quiet": true});
    let envelope = place("asks").call(&["forms__ask_client", &quiet.to_string()]);
    assert_eq!(envelope["error"], "\"something went wrong\"");
    assert_eq!(envelope["hint"], CANNOT_BE_ASKED);
}

/// What a server of 2026-07-28 asks in its result is asked at the terminal too.
#[test]
fn a_modern_server_is_answered_at_the_terminal() {
    let keys = [("Accept?", "y")];
    let args = asks("elicitation/create", &json!({"message": "Go on?"}));
    let Shown { status, text } = typed(&place("asks,modern"), &args, &keys);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains(r#"{"q":{"action":"accept","content":{}}}"#), "{text}");
}

#[test]
fn a_server_that_wants_a_model_is_told_if_there_is_none() {
    let asked = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "Sum up\u{1b}[31m"}}],
        "systemPrompt": "Be brief", "maxTokens": 50,
    });
    let args = asks("sampling/createMessage", &asked);
    let place = place("asks");
    let refused = typed(&place, &args, &[]);
    assert!(refused.text.contains("and there is no model"), "{}", refused.text);
}

/// Over REST nobody is asked, unless the caller says that it answers.
#[test]
fn a_program_over_rest_is_told_that_it_cannot_be_asked() {
    let place = place("asks");
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let args = elicits(&person());
    let (_, envelope) = serving.ask("POST", "/api/tools/forms__ask_client/call", "", &args);
    assert!(
        envelope["error"].as_str().is_some_and(|error| error.contains(CANNOT_BE_ASKED)),
        "{envelope}"
    );
    let (status, wrong) = serving.ask(
        "POST",
        "/api/tools/forms__ask_client/call",
        "X-Switchboard-Answers: roots\r\n",
        &args,
    );
    assert_eq!(status, 400, "{wrong}");
}
