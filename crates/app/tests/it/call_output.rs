//! `call` without `--json`: what people read, and files of binary results.

use std::fs;

use serde_json::json;

use crate::{fixture::section, test_folder::TestFolder};

// RS-3, RS-4
#[test]
fn a_servers_result_is_its_text() {
    let place = TestFolder::with_config(&format!(
        "{}{}{}",
        section("sum", ""),
        section("odd", "vendor-fields"),
        section("broken", "is-error")
    ));
    // The text and the same as structure: it is read once.
    let ran = place.run(&["call", "sum__add", "a=1", "b=2"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "3\n"), "{ran:?}");
    let envelope = place.call(&["sum__add", "a=1", "b=2"]);
    assert_eq!(envelope["result"]["structuredContent"]["sum"], 3.0, "programs lose nothing");
    let ran = place.run(&["call", "odd__add", "a=1", "b=2"]);
    assert_eq!(ran.stdout, "[hologram content, not shown]\nkept\n");
    let ran = place.run(&["call", "broken__add", "a=1", "b=2"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert_eq!(ran.stderr, "the lamp is broken\n");
    assert_eq!(place.call(&["broken__add", "a=1", "b=2"])["error"], "the lamp is broken");
}

// RS-3, RS-4, ML-8
#[test]
fn a_model_reads_the_same_text() {
    let calls = json!([
        {"id": "a", "name": "sum__add", "args": {"a": 1, "b": 2}},
        {"id": "b", "name": "broken__add", "args": {"a": 1, "b": 2}},
    ]);
    let script = json!({"turns": [{"tool_calls": calls}, {"text": "Done."}]});
    let place =
        TestFolder::with_config(&[section("sum", ""), section("broken", "is-error")].concat())
            .file("script.json", script.to_string());
    let printed = place.run(&["ask", "-m", "script:script.json", "--json", "go"]).json();
    let read = |id: &str, content: &str, is_error: bool| json!({"role": "tool", "content": content, "tool_call_id": id, "is_error": is_error});
    let messages = &printed["messages"];
    assert_eq!(messages[2], read("a", "3", false), "{printed}");
    // The flag says it; wires that have none get `Error: ` before the text.
    assert_eq!(messages[3], read("b", "the lamp is broken", true), "{printed}");
}

// RS-6
#[test]
fn an_image_goes_to_a_file() {
    let config = [section("one", "binary"), section("two", "binary=2"), section("none", "")];
    let place = TestFolder::with_config(&config.concat());
    let to = |server: &str, file: &str| {
        place.run(&["call", &format!("{server}__add"), "a=1", "b=2", "-o", file])
    };
    let ran = to("one", "a.png");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(ran.stderr, "8 bytes written to a.png\n");
    assert!(ran.stdout.starts_with("[image: image/png, 8 bytes, artifact "), "{ran:?}");
    assert!(ran.stdout.ends_with("]\na picture\n"), "{ran:?}");
    assert_eq!(fs::read(place.path().join("a.png")).unwrap(), b"\x89PNG\r\n\x1a\n");
    for (server, file, says) in [
        (
            "two",
            "b.png",
            "error: `two__add` answered with 2 binary parts, and -o writes one; nothing was written to b.png\n",
        ),
        (
            "none",
            "c.png",
            "error: `none__add` answered without an image or other binary content; nothing was written to c.png\n",
        ),
        (
            "one",
            "no/such/d.png",
            "error: failed to write `no/such/d.png`: No such file or directory",
        ),
    ] {
        let ran = to(server, file);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.starts_with(says), "{ran:?}");
        assert!(
            ran.stdout.ends_with('\n') && ran.stdout.len() > 1,
            "what there is to read is shown: {ran:?}"
        );
        assert!(!place.path().join(file).exists());
    }
    let refusal = place.refusal(&["call", "one__add", "-o", "x.png", "--json"]);
    assert!(refusal.contains("cannot be used with"), "{refusal}");
}

// EX-5: connecting is told by itself, and does not make a call slow.
#[test]
fn a_server_that_starts_slowly_is_no_slow_call() {
    let slow = "[executor]\nslow_call = \"200ms\"\n";
    let place = TestFolder::with_config(&format!("{slow}{}", section("s", "slow-start=600")));
    for words in [&["call", "s__add", "a=1", "b=2"][..], &["call", "s__add", r#"{"a":1,"b":2}"#]] {
        let ran = place.run(words);
        assert_eq!(
            (ran.status, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "3\n", ""),
            "{ran:?}"
        );
    }
    let slow = format!("{slow}{}", section("s", "answers-late=600"));
    let ran = TestFolder::with_config(&slow).run(&["call", "s__add", "a=1", "b=2"]);
    assert!(ran.stderr.contains("slow call: 's__add' took"), "{ran:?}");
}
