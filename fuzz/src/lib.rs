//! The fuzz targets: what holds for any input, and that none makes the code panic.

use std::{path::Path, sync::LazyLock};

use serde_json::Value;
use switchboard::fuzzing;
use switchboard_mcp_server::Seal;
use switchboard_mcp_wire::lines::{LineSplitter, WireLine, messages, unreadable_answer};
use switchboard_runtime::redact;
use switchboard_toolcall::{json, sse::SseParser};

/// Checks one input; panics if what it promises does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which its folder in `corpus` has too.
pub const TARGETS: &[(&str, Target)] = &[
    ("lines", lines),
    ("sse", sse),
    ("json", json_writer),
    ("seal", sealed_id),
    ("jsonc", jsonc_reader),
    ("config", config),
    ("math", math),
    ("redact", redaction),
];

/// Lines are the same however the bytes arrive, and their messages are found without a panic.
fn lines(data: &[u8]) {
    const LIMIT: usize = 64;
    let Some((&step, data)) = data.split_first() else { return };
    let read = |step: usize| {
        let mut lines = LineSplitter::new(LIMIT);
        let mut seen = Vec::new();
        for chunk in data.chunks(step) {
            lines.room().extend_from_slice(chunk);
            while let Some(line) = lines.next() {
                seen.push(described(&line));
            }
        }
        seen.extend(lines.finish().map(|line| described(&line)));
        seen
    };
    assert_eq!(read(usize::from(step).max(1)), read(data.len().max(1)));
    for line in data.split(|byte| *byte == b'\n') {
        let mut count = 0;
        let _ = messages(line, |_| count += 1);
        unreadable_answer(line);
        assert!(count <= line.len());
    }
}

/// A line without the part that depends on when it was cut.
fn described(line: &WireLine<'_>) -> (bool, Vec<u8>, u64) {
    match line {
        WireLine::Whole(line) => (true, line.to_vec(), 0),
        WireLine::TooLong(long) => {
            long.answers();
            (false, long.head.clone(), long.bytes)
        }
    }
}

/// Events are the same however the bytes arrive.
fn sse(data: &[u8]) {
    const LIMIT: usize = 128;
    let Some((&step, data)) = data.split_first() else { return };
    let read = |step: usize| {
        let mut parser = SseParser::new(LIMIT);
        let mut events = Vec::new();
        let fits = data.chunks(step).all(|chunk| parser.feed(chunk, &mut events).is_ok());
        let end = fits.then(|| (parser.last_id().map(str::to_owned), parser.retry()));
        (events, end)
    };
    assert_eq!(read(usize::from(step).max(1)), read(data.len().max(1)));
}

/// The writer of JSON writes what serde_json does, and what it shows to people is the same JSON.
fn json_writer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut out = String::new();
    json::write_string(&mut out, text);
    assert_eq!(out, serde_json::to_string(text).expect("a text is JSON"));
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    out.clear();
    json::write_value(&mut out, &value);
    assert_eq!(out, serde_json::to_string(&value).expect("a value is JSON"));
    assert_eq!(serde_json::from_str::<Value>(&json::visible(text)).ok(), Some(value));
}

/// Nobody makes a session's id without the secret.
fn sealed_id(data: &[u8]) {
    static SEAL: LazyLock<Seal> = LazyLock::new(|| {
        Seal::new(b"a secret of fuzzing", [&b"an older secret of it"[..]]).expect("they are long")
    });
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(!SEAL.is_ours(text), "{text}");
    }
}

/// JSON without comments is left as it is, and positions stay.
fn jsonc_reader(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let plain = fuzzing::plain(text);
    assert_eq!(plain.len(), text.len());
    assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_eq!(serde_json::from_str::<Value>(&plain).ok(), Some(value));
    }
}

/// Configs, ours and those of other programs, are read or refused, and do nothing that trust was not asked for.
fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for file in ["switchboard.toml", "mcp.json"] {
        let _ = fuzzing::config(text, &Path::new("/nonexistent").join(file));
    }
}

/// Expressions have a value or an error; a panic within the evaluation ends the program, as everywhere here.
fn math(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = switchboard_math::evaluate(text);
    }
}

/// What was redacted once stays as it is, and JSON stays JSON.
fn redaction(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let once = redact::text(text);
    assert_eq!(redact::text(&once), once);
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let written = redact::value(&value);
        assert!(serde_json::from_str::<Value>(&written).is_ok(), "{written}");
    }
}
