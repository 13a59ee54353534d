//! MC-5: whatever stands between messages and however the bytes arrive, the messages are found.

use proptest::{collection::vec, prelude::*};

use super::{LineSplitter, TooLong, WireLine, messages, unreadable_answer};
use crate::IncomingMessage;

/// Short names for what comes out: a response's id, `method` or `method?` for a request; `!` where garbage was.
fn read(line: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let outcome = messages(line, |message| found.push(short(&message)));
    if outcome.is_err() {
        found.push("!".to_owned());
    }
    found
}

fn short(message: &IncomingMessage) -> String {
    match message {
        IncomingMessage::Response { id: Some(id), .. } => id.to_string(),
        IncomingMessage::Response { id: None, .. } => "nobody".to_owned(),
        IncomingMessage::Request { method, .. } => format!("{method}?"),
        IncomingMessage::Notification { method, .. } => method.clone(),
    }
}

/// All lines of the chunks, owned; a line that is too long by its length.
fn cut(chunks: &[&[u8]], limit: usize) -> Vec<Result<Vec<u8>, TooLong>> {
    let mut lines = LineSplitter::new(limit);
    let mut all = Vec::new();
    let own = |line: WireLine<'_>| match line {
        WireLine::Whole(line) => Ok(line.to_owned()),
        WireLine::TooLong(line) => Err(line),
    };
    for chunk in chunks {
        lines.room().extend_from_slice(chunk);
        while let Some(line) = lines.next() {
            all.push(own(line));
        }
    }
    all.extend(lines.finish().map(own));
    all
}

#[test]
fn a_line_gives_up_its_messages() {
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,{"id":2}]}}"#;
    let note = r#"{"method":"note","jsonrpc":"2.0"}"#;
    let ask = r#"{"jsonrpc":"2.0","id":"x","method":"ask"}"#;
    let cases: [(String, &[&str]); 17] = [
        (answer.to_owned(), &["7"]),
        (format!("  {answer}\t"), &["7"]),
        (ask.to_owned(), &["ask?"]),
        (String::new(), &[]),
        ("   ".to_owned(), &[]),
        ("plain { text".to_owned(), &["!"]),
        (r#"{"level":"info","id":3}"#.to_owned(), &["!"]),
        ("[]".to_owned(), &["!"]),
        (r#"["2.0",1,"method"]"#.to_owned(), &["!"]),
        (format!("DEBUG {answer}"), &["7", "!"]),
        (format!("{answer}50%"), &["7", "!"]),
        (format!(r#"{{"jsonrpc":"2.0","id":5,"resu{answer}"#), &["7", "!"]),
        (format!("{note}{answer}{note}"), &["note", "7", "note", "!"]),
        (format!("[{note}, {answer},{ask}]"), &["note", "7", "ask?"]),
        (format!("[{note}, 5, {answer}]"), &["note", "7", "!"]),
        // A log line that quotes a request must not make us answer it.
        (format!("received {ask}"), &["!"]),
        (format!(r#"{{"seen":{ask}}}"#), &["!"]),
    ];
    for (line, expected) in cases {
        assert_eq!(read(line.as_bytes()), expected, "{line}");
    }
}

#[test]
fn a_line_full_of_beginnings_is_rejected_soon() {
    // Tried one by one, each to the end of the line, these would take hours.
    let line = r#"{"id":["#.repeat(100_000);
    assert_eq!(read(line.as_bytes()), ["!"]);
    let line = r#"{"jsonrpc":"2.0","id":1,"result":"#.repeat(50_000);
    assert_eq!(read(line.as_bytes()), ["!"]);
    let line = "{".repeat(1_000_000);
    assert_eq!(read(line.as_bytes()), ["!"]);
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_never_held() {
    let mut lines = LineSplitter::new(1000);
    for _ in 0..1000 {
        lines.room().extend_from_slice(&[b'x'; 10_000]);
        assert_eq!(lines.next(), None);
        assert!(lines.buffer.capacity() < 200_000, "{}", lines.buffer.capacity());
    }
    lines.room().extend_from_slice(b"end\nnext\n");
    let Some(WireLine::TooLong(skipped)) = lines.next() else { panic!("not too long") };
    assert_eq!((skipped.bytes, skipped.tail.ends_with(b"xend")), (10_000_003, true));
    assert_eq!(lines.next(), Some(WireLine::Whole(b"next")));
    assert_eq!(lines.next(), None);
}

#[test]
fn an_answer_that_cannot_be_kept_is_known_by_its_ends() {
    let filler = "x".repeat(5000);
    let cases = [
        (format!(r#"{{"jsonrpc":"2.0","id":12,"result":"{filler}"}}"#), Some(12)),
        (format!(r#"{{"result":"{filler}","jsonrpc":"2.0","id":13}}"#), Some(13)),
        (format!(r#"{{ "error": "{filler}", "id": 14, "jsonrpc": "2.0" }}"#), Some(14)),
        (format!(r#"{{"result":{{"id":15,"x":"{filler}"}}"#), None),
        (format!(r#"{{"jsonrpc":"2.0","id":16,"method":"{filler}"}}"#), None),
        (format!(r#"{{"method":"{filler}","jsonrpc":"2.0","id":17}}"#), None),
        (filler, None),
    ];
    for (line, id) in cases {
        let [Err(skipped)] = &cut(&[line.as_bytes()], 1000)[..] else { panic!("not too long") };
        assert_eq!(skipped.answers(), id, "{line}");
    }
    assert_eq!(unreadable_answer(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xff\"}"), Some(3));
    assert_eq!(unreadable_answer(b"\xff caf\xe9"), None);
    assert_eq!(unreadable_answer(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"resu"), None);
}

#[test]
fn line_ends_of_every_kind_are_taken_off() {
    let lines = cut(&[b"a\r\n\n\r\nb\nlast"], 100);
    let lines: Vec<_> = lines.iter().map(|line| line.as_deref().unwrap()).collect();
    assert_eq!(lines, [&b"a"[..], b"", b"", b"b", b"last"]);
}

/// Bytes without a line end.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), proptest::sample::select(b"{}[]\":, \\0".to_vec())];
    vec(byte.prop_filter("a line end", |byte| *byte != b'\n'), 0..60)
}

/// Cuts the bytes at the places, all of them taken modulo the length.
fn chunks<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn messages_are_found_among_garbage(
        lines in vec((garbage(), garbage(), vec(garbage(), 0..3)), 1..8),
        places in vec(any::<usize>(), 0..20),
    ) {
        let mut bytes = Vec::new();
        for (id, (before, after, between)) in lines.iter().enumerate() {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            bytes.extend([before.as_slice(), answer.as_bytes(), after, b"\n"].concat());
            bytes.extend(between.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()));
        }
        let mut found = Vec::new();
        for line in cut(&chunks(&bytes, &places), 10_000) {
            found.extend(read(&line.unwrap()).into_iter().filter(|found| found != "!"));
        }
        let expected: Vec<_> = (0..lines.len()).map(|id| id.to_string()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn chunks_make_no_difference(
        bytes in vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r')], 0..300),
        places in vec(any::<usize>(), 0..20),
        limit in 0_usize..40,
    ) {
        prop_assert_eq!(cut(&chunks(&bytes, &places), limit), cut(&[&bytes], limit));
    }
}
