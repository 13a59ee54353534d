//! One value, three views; bounded, with nothing lost.

use serde_json::{Value, json};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, Content, Part, ToolCall, ToolOutput},
};
use switchboard_testkit::Fake;

use super::{envelope, executor, object};

fn content(parts: Vec<Part>, fields: Value) -> ToolOutput {
    ToolOutput::Content(Content { parts, fields: object(fields) })
}

async fn shaped(output: ToolOutput, limit: Option<usize>) -> (ToolExecutor, Value, String) {
    let tool = Fake::outputs("tool", output).with(|spec| spec.settings.max_output = limit);
    let executor = executor([tool]);
    let result = executor.call("tool", json!({})).await;
    let (envelope, text) = (envelope(&result), result.text());
    assert_eq!(result.message().content, text);
    (executor, envelope, text)
}

// RS-1
#[tokio::test]
async fn the_envelope_has_its_fields_in_order() {
    let executor =
        executor([Fake::answers("t", json!({"b": 1, "a": [1.0, 12345678901234567890123_f64]}))]);
    let result = executor.call("t", json!({})).await;
    let text = serde_json::to_string(&result).unwrap();
    let start = r#"{"success":true,"result":{"b":1,"a":[1.0,1.2345678901234568e+22]},"tool_name":"t","execution_time_ms":"#;
    assert!(text.starts_with(start), "{text}");
    assert_eq!(envelope(&result)["call_id"], result.call_id.to_string());
    let result = executor.call("nope", json!({})).await;
    let text = serde_json::to_string(&result).unwrap();
    assert!(text.starts_with(r#"{"success":false,"error":"Tool 'nope' not found","tool_name":"nope","execution_time_ms":"#));
    assert_eq!(envelope(&result)["error_kind"], "not_found");
}

// RS-3
#[tokio::test]
async fn numbers_keep_their_digits() {
    let executor = executor([Fake::echoes("echo")]);
    let text =
        r#"{"big":12345678901234567890123,"point":1.0,"small":0.1000,"exp":1e+5,"neg":-0.0}"#;
    let Ok(Value::Object(args)) = serde_json::from_str(text) else { unreachable!() };
    let result = executor.execute(ToolCall::new("echo", args), &CallContext::default()).await;
    assert_eq!(result.text(), text);
    assert!(serde_json::to_string(&result).unwrap().contains(text));
}

// RS-3
#[tokio::test]
async fn text_is_joined_and_everything_else_is_kept() {
    let texts = vec![Part::text("one"), Part::text("two")];
    let (_, envelope, text) = shaped(content(texts.clone(), json!({})), None).await;
    assert_eq!((envelope["result"].clone(), text.as_str()), (json!("one\ntwo"), "one\ntwo"));

    let fields = json!({"structuredContent": {"n": 1.0}, "_meta": {"x": 1}, "vendor": true});
    let (_, envelope, text) = shaped(content(texts, fields), None).await;
    let expected = r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"structuredContent":{"n":1.0},"_meta":{"x":1},"vendor":true}"#;
    assert_eq!(envelope["result"].to_string(), expected, "programs lose nothing");
    assert_eq!(text, "one\ntwo", "models and people read just the text");

    let annotated =
        Part(object(json!({"type": "text", "text": "a", "annotations": {"priority": 1}})));
    let unknown = Part(object(json!({"type": "hologram", "depth": 3})));
    let (_, envelope, text) = shaped(content(vec![annotated, unknown], json!({})), None).await;
    assert_eq!(text, "a\n[hologram content, not shown]");
    assert_eq!(envelope["result"]["content"][0]["annotations"]["priority"], 1);
    assert_eq!(envelope["result"]["content"][1]["depth"], 3);
}

// RS-5
#[tokio::test]
async fn long_text_is_cut_and_the_whole_can_be_read() {
    let whole: String = ('a'..='z').cycle().take(1000).collect();
    let (executor, envelope, text) = shaped(ToolOutput::Value(json!(whole)), Some(90)).await;
    for service in switchboard_runtime::services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    assert_eq!(envelope["result"], text);
    assert_eq!(envelope["truncated"], true);
    let id = envelope["artifacts"][0]["id"].as_str().unwrap();
    assert!(text.starts_with(&whole[..60]) && text.ends_with(&whole[970..]), "{text}");
    assert!(text.contains("910 of 1000 characters are missing here"), "{text}");
    assert!(
        text.contains(&format!(r#"read_result {{"id":"{id}","offset":60,"limit":90}}"#)),
        "{text}"
    );
    assert!(text.chars().count() <= 90 + 300);
    let rest = executor.call("read_result", json!({"id": id, "offset": 60, "limit": 910})).await;
    assert_eq!(rest.text(), whole[60..970]);
}

// RS-5
#[tokio::test]
async fn a_long_value_becomes_cut_text() {
    let value = json!({"rows": vec![json!({"name": "ä"}); 100]});
    let (executor, envelope, text) = shaped(ToolOutput::Value(value.clone()), Some(300)).await;
    assert_eq!(envelope["result"], text);
    let id = envelope["artifacts"][0]["id"].as_str().unwrap();
    let kept = executor.artifacts().get(id).await.unwrap().unwrap();
    assert_eq!(kept.bytes, value.to_string().into_bytes());
    assert_eq!(kept.media_type, "application/json");
    // Characters count, not bytes.
    let umlauts = json!(["ä".repeat(100)]);
    let (_, envelope, _) = shaped(ToolOutput::Value(umlauts.clone()), Some(104)).await;
    assert_eq!(envelope["result"], umlauts);
}

// RS-3: nothing is read twice, and what is no text is named.
#[tokio::test]
async fn structure_is_read_only_if_there_is_no_text() {
    let fields = json!({"structuredContent": {"n": 1.0, "big": 12345678901234567890_u64}});
    let (_, _, text) = shaped(content(Vec::new(), fields.clone()), None).await;
    assert_eq!(text, r#"{"n":1.0,"big":12345678901234567890}"#);
    let image = Part::binary("image", "image/png", "AAEC");
    let (_, envelope, text) = shaped(content(vec![image], fields), None).await;
    let id = envelope["artifacts"][0]["id"].as_str().unwrap();
    let line = format!("[image: image/png, 3 bytes, artifact {id}]");
    assert_eq!(text, format!("{line}\n{}", r#"{"n":1.0,"big":12345678901234567890}"#));
    assert_eq!(envelope["result"]["content"][0]["text"], line);
}

// RS-3, RS-5: a file of 300 kB that comes twice, as text and as structure, is cut as the text that it is.
#[tokio::test]
async fn the_limit_is_for_the_text_that_is_read() {
    let line = "A line with \"quotes\", a tab\tand ä.\n";
    let file: String = line.repeat(300_000 / line.len());
    let fields = json!({"structuredContent": {"content": file}});
    let output = content(vec![Part::text(&*file)], fields.clone());
    let (executor, envelope, text) = shaped(output, None).await;
    for service in switchboard_runtime::services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    // What is missing in the text is what `read_result` gives, from the character where the head ends.
    let (head, rest) = text.split_once("\n[… ").unwrap();
    let (note, tail) = rest.split_once(" …]\n").unwrap();
    let characters: Vec<char> = file.chars().collect();
    assert_eq!(head.chars().count() + tail.chars().count(), 50_000);
    assert_eq!(head, characters[..33_334].iter().collect::<String>());
    let request = note.split_once("read_result ").unwrap().1.strip_suffix(" reads on").unwrap();
    let mut request: Value = serde_json::from_str(request).unwrap();
    assert_eq!(request["offset"], 33_334);
    let read = executor.call("read_result", request.clone()).await;
    assert_eq!(read.text(), characters[33_334..83_334].iter().collect::<String>());
    request["limit"] = json!(200_000);
    request["offset"] = json!(characters.len() - 16_666);
    assert_eq!(executor.call("read_result", request.clone()).await.text(), tail);
    // Programs have the whole object first among the artifacts.
    assert_eq!(envelope["truncated"], true);
    let ids: Vec<_> =
        (0..2).map(|n| envelope["artifacts"][n]["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(request["id"], ids[1].as_str());
    let whole = executor.artifacts().get(&ids[0]).await.unwrap().unwrap();
    assert_eq!(whole.media_type, "application/json");
    let whole: Value = serde_json::from_slice(&whole.bytes).unwrap();
    assert_eq!(whole["structuredContent"], fields["structuredContent"]);
    assert!(envelope["result"].as_str().unwrap().contains(&ids[0]), "its own note names it");
}

// RS-5: a text that fits is whole for models, even if the object around it does not fit for programs.
#[tokio::test]
async fn a_text_that_fits_is_not_cut_because_it_came_twice() {
    let file = "x".repeat(80);
    let fields = json!({"structuredContent": {"content": file}});
    let (executor, envelope, text) =
        shaped(content(vec![Part::text(&*file)], fields), Some(100)).await;
    assert_eq!(text, file);
    assert!(
        envelope["result"].as_str().unwrap().contains("characters are missing here"),
        "{envelope}"
    );
    // Who has only the envelope finds the text among the artifacts.
    assert_eq!(envelope["artifacts"][1]["media_type"], "text/plain");
    let id = envelope["artifacts"][1]["id"].as_str().unwrap();
    assert_eq!(executor.artifacts().get(id).await.unwrap().unwrap().bytes, file.into_bytes());
}

// RS-5: MCP clients read on at the right place, too.
#[tokio::test]
async fn each_cut_part_says_where_it_goes_on() {
    let parts = vec![
        Part::text("ä".repeat(150)),
        Part::binary("image", "image/png", "AAEC"),
        Part::text("b".repeat(10) + &"c".repeat(200)),
    ];
    let fields = json!({"structuredContent": {"n": 1}});
    for fields in [json!({}), fields] {
        let output = content(parts.clone(), fields);
        let tool = Fake::outputs("tool", output).with(|spec| spec.settings.max_output = Some(99));
        let executor = executor([tool]);
        for service in switchboard_runtime::services::all(&executor) {
            executor.tools().add_shared(service).unwrap();
        }
        let result = executor.call("tool", json!({})).await;
        let ToolOutput::Content(content) = result.outcome.unwrap().output else {
            panic!("content")
        };
        assert_eq!(content.parts[1], parts[1]);
        for (part, whole) in [(0, "ä".repeat(150)), (2, "b".repeat(10) + &"c".repeat(200))] {
            let text = content.parts[part].as_text().unwrap();
            let (head, rest) = text.split_once("\n[… ").unwrap();
            let (note, tail) = rest.split_once(" …]\n").unwrap();
            let missing = whole.chars().count() - 99;
            let request = note.split_once("read_result ").unwrap().1.strip_suffix(" reads on");
            let mut request: Value = serde_json::from_str(request.unwrap()).unwrap();
            request["limit"] = json!(missing);
            let middle = executor.call("read_result", request).await.text();
            assert_eq!(format!("{head}{middle}{tail}"), whole);
        }
    }
}

// RS-5
#[tokio::test]
async fn structured_content_stays_whole_for_those_who_take_it() {
    let fields = json!({"structuredContent": {"long": "x".repeat(1000)}});
    let output = content(vec![Part::text("y".repeat(1000))], fields.clone());
    let tool = Fake::outputs("tool", output).with(|spec| spec.settings.max_output = Some(100));
    let result = executor([tool]).call("tool", json!({})).await;
    assert!(result.text().chars().count() <= 400);
    let answer = result.outcome.unwrap();
    let ToolOutput::Content(content) = answer.output else { panic!("content stays content") };
    assert_eq!(Value::Object(content.fields), fields);
    let text = content.parts[0].as_text().unwrap();
    assert!(text.chars().count() <= 400 && text.contains("900 of 1000"), "{text}");
}

#[tokio::test]
async fn who_wants_it_whole_gets_it_whole() {
    let long = "y".repeat(1000);
    for output in [
        ToolOutput::Value(json!(long)),
        ToolOutput::Value(json!({"long": long})),
        content(vec![Part::text(&*long)], json!({"structuredContent": {"long": long}})),
    ] {
        let tool = Fake::outputs("tool", output.clone());
        let executor = executor([tool.with(|spec| spec.settings.max_output = Some(100))]);
        let cx = CallContext { whole: true, ..CallContext::default() };
        let result = executor.execute(ToolCall::new("tool", object(json!({}))), &cx).await;
        assert!(!result.truncated && result.artifacts.is_empty());
        assert_eq!(result.outcome.unwrap().output, output);
    }
}

// RS-6
#[tokio::test]
async fn binaries_are_artifacts_and_never_text() {
    let image = Part::binary("image", "image/png", "aGVsbG8gd29ybGQ=");
    let blob = Part(object(
        json!({"type": "resource", "resource": {"uri": "x://y", "mimeType": "application/pdf", "blob": "AAEC"}}),
    ));
    let odd = Part::binary("audio", "audio/wav", "not base64!");
    let parts = vec![Part::text("look:"), image.clone(), blob, odd];
    let (executor, envelope, text) = shaped(content(parts, json!({})), None).await;
    let ids: Vec<_> =
        (0..3).map(|n| envelope["artifacts"][n]["id"].as_str().unwrap().to_owned()).collect();
    let expected = format!(
        "look:\n[image: image/png, 11 bytes, artifact {}]\n[blob: application/pdf, 3 bytes, artifact {}]\n[audio: audio/wav, 11 bytes, artifact {}]",
        ids[0], ids[1], ids[2]
    );
    assert_eq!(text, expected);
    assert!(!envelope.to_string().contains("aGVsbG8"), "{envelope}");
    let kept = executor.artifacts().get(&ids[0]).await.unwrap().unwrap();
    assert_eq!((kept.media_type.as_str(), &kept.bytes[..]), ("image/png", &b"hello world"[..]));
    // Who takes images gets the image.
    let result = executor.call("tool", json!({})).await;
    let ToolOutput::Content(content) = result.outcome.unwrap().output else { unreachable!() };
    assert_eq!(content.parts[1], image);
}

// RS-5, RS-6: the whole text comes first among the artifacts.
#[tokio::test]
async fn cut_text_beside_a_binary() {
    let parts = vec![Part::text("z".repeat(1000)), Part::binary("image", "image/png", "AAEC")];
    let (executor, envelope, text) = shaped(content(parts, json!({})), Some(100)).await;
    assert_eq!(envelope["artifacts"][0]["kind"], "text");
    assert_eq!(envelope["artifacts"][1]["kind"], "image");
    let id = envelope["artifacts"][0]["id"].as_str().unwrap();
    assert!(text.contains(id), "{text}");
    assert!(executor.artifacts().get(id).await.unwrap().is_some());
}
