//! The settings of the built-in tools.

use std::error::Error;

use serde_json::json;
use switchboard_local::BuiltinsConfig;
use switchboard_toolcall::ErrorKind;

use crate::responder::{call, search_web};

#[tokio::test]
async fn unconfigured_it_says_how_to_configure_it() {
    // LT-3
    let tool = search_web("");
    let error = call(&tool, json!({"query": "rust"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.for_model.contains("[builtins.search_web] provider = \"searxng\""), "{error}");
    assert!(error.source().is_none());
}

#[tokio::test]
async fn wrong_arguments() {
    let tool = search_web("");
    for (args, expected) in [
        (json!({"query": "  "}), "Invalid parameters: 'query' must not be empty"),
        (
            json!({"query": "x", "max_results": 0}),
            "Invalid parameters: 'max_results' must be between 1 and 20",
        ),
        (
            json!({"query": "x", "max_results": 21}),
            "Invalid parameters: 'max_results' must be between 1 and 20",
        ),
        (
            json!({"query": "x", "max_results": 1.5}),
            "Invalid parameters: 1.5 is not a whole number",
        ),
    ] {
        let error = call(&tool, args).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters);
        assert_eq!(error.for_model, expected);
    }
}

#[test]
fn wrong_settings_are_named_where_they_stand() {
    let check = |text: &str| toml::from_str::<BuiltinsConfig>(text).unwrap_err().to_string();
    for (text, expected) in [
        ("[search_web]\nprovider = 'searxng'", "searxng needs `url`"),
        (
            "[search_web]\nprovider = 'searxng'\nurl = 'ftp://u:hidden@x'",
            "`url` is not an http or https address",
        ),
        (
            "[search_web]\nprovider = 'searxng'\nurl = 'localhost'",
            "`url` is not an http or https address",
        ),
        ("[search_web]\nprovider = 'brave'", "brave needs `api_key`"),
        ("[search_web]\nprovider = 'brave'\napi_key = ' '", "brave needs `api_key`"),
        ("[search_web]\nprovider = 'duckduckgo'\napi_key = 'k'", "`api_key` is only for brave"),
        ("[search_web]\nprovider = 'google'", "expected one of `searxng`, `brave`, `duckduckgo`"),
        ("[search_web]\nprovider = 'brave'\nkey = 'k'", "unknown field `key`"),
        (
            "[control_speaker_volume]\nmixer = 'jack'",
            "expected one of `auto`, `pipewire`, `pulseaudio`, `alsa`",
        ),
        ("[search]\nprovider = 'brave'", "unknown field `search`"),
    ] {
        let error = check(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn keys_are_not_shown() {
    let text = "[search_web]\nprovider = 'brave'\napi_key = 'BSA-secret'\ntimeout = '5s'";
    let config: BuiltinsConfig = toml::from_str(text).unwrap();
    let shown = format!("{config:?}");
    assert!(shown.contains("Brave") && !shown.contains("BSA"), "{shown}");
}
