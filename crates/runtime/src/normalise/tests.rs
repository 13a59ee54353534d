//! Cutting never splits a character and never loses a byte overall.

use proptest::prelude::*;
use serde_json::Value;
use switchboard_toolcall::{CallContext, ToolOutput, tool_fn};

use super::*;
use crate::ToolExecutor;

proptest! {
    // RS-5
    #[test]
    fn a_cut_keeps_head_and_tail(text in "(\\PC|[äß€𝄞\n]){0,200}", limit in 0_usize..220) {
        let total = text.chars().count();
        match TruncatedText::of(&text, limit) {
            None => prop_assert!(total <= limit),
            Some(cut) => {
                prop_assert!(total > limit);
                prop_assert!(text.starts_with(cut.head) && text.ends_with(cut.tail));
                prop_assert_eq!(cut.head.chars().count(), cut.offset);
                prop_assert_eq!(cut.head.chars().count() + cut.tail.chars().count(), limit);
                prop_assert_eq!(cut.missing + limit, total);
                // What is missing lies exactly between head and tail.
                let missing: String = text.chars().skip(cut.offset).take(cut.missing).collect();
                prop_assert_eq!(format!("{}{missing}{}", cut.head, cut.tail), text);
            }
        }
    }

    // RS-1, RS-3, RS-5: whatever a tool answers, the envelope is one JSON object with its result bounded.
    #[test]
    fn the_envelope_is_always_sound(text in "(\\PC|[\"\\\\\n\u{0}ä]){0,400}", limit in 1_usize..300, list: bool) {
        let value = if list { Value::from(vec![text.clone()]) } else { Value::from(text) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (envelope, whole) = runtime.block_on(async {
            let executor = ToolExecutor::default();
            let answer = value.clone();
            let tool = tool_fn("t", move |_: Value, _: CallContext| std::future::ready(answer.clone()))
                .describe("answers")
                .with(|spec| spec.settings.max_output = Some(limit));
            executor.tools().add(tool).unwrap();
            let result = executor.call("t", serde_json::json!({})).await;
            let text = serde_json::to_string(&result).unwrap();
            let envelope: Value = serde_json::from_str(&text).unwrap();
            let whole = match result.artifacts.first() {
                Some(kept) => {
                    let kept = executor.artifacts().get(&kept.id).await.unwrap().unwrap();
                    Some(String::from_utf8(kept.bytes.to_vec()).unwrap())
                }
                None => None,
            };
            (envelope, whole)
        });
        prop_assert_eq!(&envelope["success"], &Value::Bool(true));
        match whole {
            None => prop_assert_eq!(&envelope["result"], &value),
            Some(whole) => {
                prop_assert_eq!(whole, ToolOutput::Value(value).text());
                let shown = envelope["result"].as_str().unwrap().chars().count();
                prop_assert!(shown <= limit + 300, "{shown} characters");
            }
        }
    }
}
