//! The names by which people who come from other systems look for things (ML-11).

use std::any::type_name;

use switchboard_models::{AiMessage, AnthropicClient, OllamaClient, OpenAiClient};
use switchboard_runtime::{ToolExecutor, ToolManager};
use switchboard_toolcall::ToolMessage;
use switchboard_voice::BackgroundTranscriber;

const PAGE: &str = include_str!("../../../../docs/embedding.md");

// ML-11: they are at the roots of the crates, they are the types' own names, and the page for embedders has them.
#[test]
fn the_names_that_people_know_are_the_types_names() {
    let types = [
        (type_name::<AnthropicClient>(), "AnthropicClient"),
        (type_name::<OllamaClient>(), "OllamaClient"),
        (type_name::<OpenAiClient>(), "OpenAiClient"),
        (type_name::<ToolExecutor>(), "ToolExecutor"),
        (type_name::<ToolManager>(), "ToolManager"),
        (type_name::<AiMessage>(), "AiMessage"),
        (type_name::<ToolMessage>(), "ToolMessage"),
        (type_name::<BackgroundTranscriber>(), "BackgroundTranscriber"),
    ];
    for (found, name) in types {
        assert_eq!(found.rsplit("::").next(), Some(name));
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name} is not in the table");
    }
}
