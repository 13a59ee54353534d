//! `call`: envelopes, exact texts, deadline, cancellation.

use std::{net::TcpListener, process::Command};

use serde_json::json;

use crate::{
    fixture::wait_until_interruptible,
    test_folder::{CommandOutput, TestFolder},
};

#[test]
fn the_first_command_of_the_readme_works() {
    // RS-1, LT-3
    let place = TestFolder::new();
    let ran = place.run(&["call", "math_eval", r#"{"expression":"2+2"}"#]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "{\"result\":4}\n"), "{ran:?}");
    assert_eq!(ran.stderr, "", "nothing but the result in a pipe");
    let ran = place.run(&["call", "math_eval", r#"{"expression":"2+2"}"#, "--json"]);
    let mut envelope = ran.json();
    let took = envelope["execution_time_ms"].take();
    assert!(took.as_f64().is_some_and(|took| took > 0.0), "{ran:?}");
    assert_eq!(envelope["call_id"].take().as_str().map(str::len), Some(26), "{ran:?}");
    let expected = json!({
        "success": true, "result": {"result": 4}, "tool_name": "math_eval",
        "execution_time_ms": null, "call_id": null,
    });
    assert_eq!(envelope, expected);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn digits_come_back_as_they_were_sent() {
    // RS-3
    let json = r#"{"n":12345678901234567890123,"f":1.0}"#;
    let ran = TestFolder::new().run(&["call", "echo", json, "--json"]);
    assert!(ran.stdout.contains(&format!(r#""result":{{"echo":{json}}}"#)), "{ran:?}");
}

#[test]
fn the_texts_of_the_contract() {
    // §12, VA-2
    let place = TestFolder::with_config(
        r#"
        [[tools]]
        name = "weather"
        description = "Weather of a city"
        implementation = { type = "mock", mock_response = { temp = 21 } }
        [tools.parameters]
        type = "object"
        required = ["city", "days"]
        [tools.parameters.properties]
        city = { type = "string" }
        days = { type = "integer" }
        options = { type = "object", properties = { unit = { enum = ["celsius", "kelvin"] } } }

        [[tools]]
        name = "by_builtin"
        description = "A handler that nobody wrote"
        implementation = { type = "builtin", handler = "nobody" }

        [[tools]]
        name = "by_internal"
        description = "A service that nobody offers"
        implementation = { type = "internal", handler = "nobody" }
        "#,
    );
    for (words, error, kind) in [
        (&["nobody"][..], "Tool 'nobody' not found", "not_found"),
        (&["x__y"], "Unknown MCP server 'x' in tool name 'x__y'", "unknown_server"),
        (&["weather", "city=B"], "Invalid parameters: missing 'days'", "invalid_parameters"),
        (&["weather"], "Invalid parameters: missing 'city', 'days'", "invalid_parameters"),
        (
            &["weather", "city=B", "days=soon"],
            "Invalid parameters: 'days' must be integer, got string",
            "invalid_parameters",
        ),
        (
            &["weather", "city=B", "days=1", "options.unit=feet"],
            "Invalid parameters: 'options.unit' must be one of: celsius, kelvin",
            "invalid_parameters",
        ),
        (&["by_builtin"], "Builtin handler 'nobody' not found", "internal"),
        (&["by_internal"], "Internal handler 'nobody' not found", "internal"),
    ] {
        let envelope = place.call(words);
        assert_eq!(envelope["error"], error, "{envelope}");
        assert_eq!(envelope["error_kind"], kind, "{envelope}");
    }
    assert_eq!(place.call(&["weather", "city=B", "days=3.0"])["result"], json!({"temp": 21}));
    let text = place.run(&["call", "weather", "days=1"]);
    assert_eq!((text.status, text.stdout.as_str()), (1, ""));
    let says =
        "Invalid parameters: missing 'city'. Required parameters: city (string), days (integer)\n";
    assert_eq!(text.stderr, says);
    assert_eq!(place.call(&["ecko"])["hint"], "Did you mean: echo");
}

#[test]
fn text_is_plain() {
    // RS-3
    let place = TestFolder::new();
    let ran = place.run(&["call", "echo", "message=hi"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "{\"echo\":{\"message\":\"hi\"}}\n"));
    let old = place.run(&["call", "echo", "message=hi", "--text"]);
    assert_eq!((ran.status, ran.stdout), (old.status, old.stdout), "--text is what is done anyway");
    let help = place.run(&["call", "--help"]).stdout;
    assert!(!help.contains("--text") && help.contains("--output <FILE>"), "{help}");
    // A failure is on stderr, with its hint and without colours.
    let ran = place.variable("RUST_LOG", "off").run(&["call", "ecko"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert_eq!(ran.stderr, "Tool 'ecko' not found\nDid you mean: echo\n");
}

#[test]
fn what_policy_denies_names_the_rule() {
    let place = TestFolder::with_config("[policy]\ndeny = [\"control_*\", \"ec*\"]\n");
    let envelope = place.call(&["echo"]);
    assert_eq!(envelope["error_kind"], "denied");
    assert_eq!(envelope["error"], "Tool 'echo' is denied by policy: deny \"ec*\"");
    let place = TestFolder::with_config("[policy]\nread_only = true\n");
    assert_eq!(place.call(&["control_speaker_volume", "action=get"])["error_kind"], "denied");
    assert_eq!(place.call(&["echo"])["success"], true);
}

#[test]
fn our_own_services_answer_defined_tools() {
    // LT-2
    let place = TestFolder::with_config(
        "[[tools]]\nname = \"find\"\ndescription = \"Finds tools\"\n\
         implementation = { type = \"internal\", handler = \"tool_search\" }\n\
         [[tools]]\nname = \"again\"\ndescription = \"Echoes\"\n\
         implementation = { type = \"builtin\", handler = \"echo\" }\n",
    );
    let found = place.call(&["find", "query=volume"]);
    assert_eq!(found["result"]["tools"][0]["name"], "control_speaker_volume", "{found}");
    assert_eq!(place.call(&["again", "a=1"])["result"], json!({"echo": {"a": 1}}));
}

/// A search provider that takes requests and never answers.
fn silent_provider() -> (TcpListener, TestFolder) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.local_addr().unwrap();
    let config = format!("[builtins.search_web]\nprovider = \"searxng\"\nurl = \"http://{url}\"\n");
    (listener, TestFolder::with_config(&config))
}

#[test]
fn the_callers_timeout_wins() {
    // EX-3
    let (_provider, place) = silent_provider();
    let envelope = place.call(&["search_web", "query=x", "--timeout", "300ms"]);
    assert_eq!(envelope["error"], "Tool 'search_web' timed out after 0.3s");
    assert_eq!(envelope["error_kind"], "timeout");
}

// EX-7: waiting for a server that says nothing is part of the call.
#[test]
fn the_time_of_a_call_includes_connecting() {
    let place = TestFolder::with_config("[servers.mute]\ncommand = \"sleep\"\nargs = [\"60\"]\n");
    let envelope = place.call(&["elsewhere", "{}", "--timeout", "400ms"]);
    assert_eq!(envelope["error_kind"], "timeout", "{envelope}");
    let took = envelope["execution_time_ms"].as_f64().unwrap();
    assert!(took >= 400.0, "{envelope}");
}

#[test]
fn an_interrupt_cancels_the_call() {
    // EX-4
    let (provider, place) = silent_provider();
    let child = place.command(&["call", "search_web", "query=x", "--json"]).spawn().unwrap();
    // The request is the sign that the call runs.
    let _request = provider.accept().unwrap();
    wait_until_interruptible(&child);
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ran.json()["error_kind"], "cancelled", "{ran:?}");
}
