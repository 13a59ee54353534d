//! The one redaction, held to a corpus: no secret is left, and nothing harmless is lost.

use std::path::Path;

use serde_json::Value;
use switchboard_runtime::redact::{REDACTED, text, value};

/// The lines of a file of the corpus, comments left out. `¦` only keeps scanners from taking what is invented for real.
fn corpus(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(file);
    let text = std::fs::read_to_string(path).unwrap().replace('¦', "");
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Puts the secret where § stands.
fn filled(value: &Value, secret: &Value) -> Value {
    let shown = secret.as_str().map_or_else(|| secret.to_string(), str::to_owned);
    match value {
        Value::String(text) if text == "§" => secret.clone(),
        Value::String(text) => text.replace('§', &shown).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, secret)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), filled(field, secret))).collect()
        }
        other => other.clone(),
    }
}

/// Whether the secret stands in the text, as it is or escaped as JSON does.
fn has(written: &str, secret: &Value) -> bool {
    let shown = secret.as_str().map_or_else(|| secret.to_string(), str::to_owned);
    let escaped = Value::String(shown.clone()).to_string();
    written.contains(&shown) || written.contains(escaped.trim_matches('"'))
}

// RC-3
#[test]
fn no_secret_of_the_corpus_is_left() {
    let cases = corpus("secrets.jsonl");
    assert!(cases.len() >= 150, "{}", cases.len());
    for case in cases {
        let (given, secret) = (filled(&case["in"], &case["secret"]), &case["secret"]);
        assert!(has(&given.to_string(), secret), "no secret in {given}");
        let as_text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        let among_others = format!("it said:\n{as_text}\nand went on");
        for written in
            [value(&given), text(&as_text).into_owned(), text(&among_others).into_owned()]
        {
            assert!(!has(&written, secret) && written.contains(REDACTED), "{given} → {written}");
            // What was redacted stays as it is, wherever it passes again.
            assert_eq!(text(&written), written);
        }
    }
}

// RC-3
#[test]
fn nothing_harmless_of_the_corpus_is_lost() {
    let cases = corpus("harmless.jsonl");
    assert!(cases.len() >= 300, "{}", cases.len());
    for given in cases {
        assert_eq!(value(&given), given.to_string());
        let as_text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        assert_eq!(text(&as_text), as_text);
    }
}

// RC-3: what surrounds a secret stays, so that a reader sees what kind it was.
#[test]
fn what_surrounds_a_secret_stays() {
    for (given, expected) in [
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ("redis://:pw@cache/0", "redis://:[redacted]@cache/0"),
        ("GET /?api_key=abc&page=2 ok", "GET /?api_key=[redacted]&page=2 ok"),
        ("a {\"password\": 42, \"b\": 1} b", "a {\"password\": \"[redacted]\", \"b\": 1} b"),
        ("x -----BEGIN PRIVATE KEY-----\nab-cd\n-----END PRIVATE KEY----- y", "x [redacted] y"),
        ("{\"password\":\"a\",\"user\":\"b\"}", "{\"password\":\"[redacted]\",\"user\":\"b\"}"),
    ] {
        assert_eq!(text(given), expected);
    }
}
