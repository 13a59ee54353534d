use proptest::prelude::*;

use super::*;

/// Feeds the chunks one after the other, and checks nothing but that they fit.
fn read(chunks: &[&[u8]]) -> (Vec<(String, String)>, SseParser) {
    let mut parser = SseParser::new(1 << 20);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.feed(chunk, &mut events).unwrap();
    }
    let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
    (events.iter().map(|event| (event.name.clone(), text(&event.data))).collect(), parser)
}

fn data(text: &str) -> Vec<String> {
    read(&[text.as_bytes()]).0.into_iter().map(|(_, data)| data).collect()
}

// MC-1
#[test]
fn lines_end_in_three_ways() {
    let (events, _) =
        read(&[b"event: a\ndata: 1\n\nevent: b\r\ndata: 2\r\n\r\nevent:c\rdata:3\r\r"]);
    let pairs = [("a", "1"), ("b", "2"), ("c", "3")];
    assert_eq!(events, pairs.map(|(name, data)| (name.to_owned(), data.to_owned())));
}

// MC-1
#[test]
fn fields_are_read_as_the_standard_says() {
    assert_eq!(data("\u{feff}data: bom\n\n"), ["bom"]);
    assert_eq!(data(": comment\n:\ndata: x\n\n"), ["x"]);
    assert_eq!(data("data: a\ndata:b\ndata:  c\n\n"), ["a\nb\n c"]);
    assert_eq!(data("data\n\n"), [""]);
    assert_eq!(data("data:\ndata\n\n"), ["\n"]);
    assert_eq!(data("other: 1\ndata: x\nData: y\n\n"), ["x"]);
    assert_eq!(data("event: empty\n\n"), [""; 0]);
    assert_eq!(data("data: unfinished\n"), [""; 0]);
    assert_eq!(data("event: gone\n\ndata: x\n\n"), ["x"]);
}

// MC-1: an event without data still says where to resume.
#[test]
fn ids_and_retry_outlive_their_event() {
    let after = |text: &str| {
        let (_, parser) = read(&[text.as_bytes()]);
        (parser.last_id().map(str::to_owned), parser.retry().map(|retry| retry.as_millis()))
    };
    assert_eq!(after("id: 7\nretry: 500\ndata: \n\n"), (Some("7".to_owned()), Some(500)));
    assert_eq!(after("id: 7\n\ndata: x\n\n"), (Some("7".to_owned()), None));
    assert_eq!(after("id: 7\ndata: x\n"), (None, None));
    assert_eq!(after("id: 7\n\nid: a\0b\n\n"), (Some("7".to_owned()), None));
    assert_eq!(after("id: 7\n\nid\n\n"), (Some(String::new()), None));
    assert_eq!(after("retry: 10\nretry: 1s\nretry: -1\nretry:\n\n"), (None, Some(10)));
    assert_eq!(after("retry: 99999999999999999999999\n\n"), (None, None));
}

#[test]
fn a_restart_keeps_the_id_and_drops_the_rest() {
    let (_, mut parser) = read(&[b"id: 1\n\nid: 2\nevent: x\ndata: half"]);
    parser.restart();
    let mut events = Vec::new();
    parser.feed(b"data: whole\n\n", &mut events).unwrap();
    assert_eq!(events, [SseEvent { name: String::new(), data: b"whole".to_vec() }]);
    assert_eq!(parser.last_id(), Some("1"));
}

#[test]
fn a_large_event_is_refused_and_those_before_it_are_not() {
    for large in [
        "data: 0123456789abcdef\n\n",
        "data: 01234567\ndata: 89abcdef\n\n",
        ": 0123456789abcdef012",
    ] {
        for size in [1, 3, 100] {
            let mut parser = SseParser::new(20);
            let mut events = Vec::new();
            let text = format!("data: ok\n\n{large}");
            let end =
                text.as_bytes().chunks(size).try_for_each(|chunk| parser.feed(chunk, &mut events));
            let refused = Err(TooLarge { limit: 20 });
            assert_eq!((end, events.len()), (refused, 1), "{large:?} in chunks of {size}");
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let text = "[ -~\u{e4}\u{20ac}]{0,12}";
    prop_oneof![
        4 => text.prop_map(|text| format!("data: {text}")),
        1 => text.prop_map(|text| format!("id:{text}")),
        1 => text.prop_map(|text| format!("event: {text}")),
        1 => (0..9999u32).prop_map(|retry| format!("retry: {retry}")),
        1 => text.prop_map(|text| format!(":{text}")),
        3 => Just(String::new()),
    ]
}

proptest! {
    // MC-1: however the network cuts a stream, its events are the same.
    #[test]
    fn chunking_does_not_matter(
        lines in prop::collection::vec((line(), prop::sample::select(vec!["\n", "\r", "\r\n"])), 0..30),
        bom in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
        lines.iter().for_each(|(line, end)| { text.push_str(line); text.push_str(end); });
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let (whole, at_once) = read(&[bytes]);
        let (cut, in_pieces) = read(&chunks);
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(at_once.last_id(), in_pieces.last_id());
        prop_assert_eq!(at_once.retry(), in_pieces.retry());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), limit in 0usize..64) {
        let mut parser = SseParser::new(limit);
        let _ = parser.feed(&bytes, &mut Vec::new());
    }
}
