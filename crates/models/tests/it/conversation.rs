//! What is sent: captured requests of a whole conversation, and its way back.

use serde_json::{Value, json};
use switchboard_models::{
    AiMessage, Arguments, Audio, Image, Message, ModelCall, ModelConfig, NativeContent, Provider,
    Request, Secret, Think, ToolChoice, ToolReply, UserMessage,
};
use switchboard_testkit::Reply;

use crate::common::{Setup, call, pretty, said, tools};

fn history() -> Vec<Message> {
    let reply = |id: &str, content: &str, is_error| {
        let (tool_call_id, content) = (id.to_owned(), content.to_owned());
        Message::Tool(ToolReply { content, tool_call_id, is_error, ..ToolReply::default() })
    };
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let picture = Message::Tool(ToolReply {
        content: "chart".to_owned(),
        tool_call_id: "functions.get_weather:2".to_owned(),
        images: vec![image],
        ..ToolReply::default()
    });
    vec![
        Message::System("Be brief.".to_owned()),
        Message::User("Weather and light?".into()),
        said(
            "",
            vec![
                call("call_1", "get_weather", r#"{"city":"Oslo","n":1.0}"#),
                call("call_2", "home.light", r#"{"city":"#),
                call("functions.get_weather:2", "get_weather", ""),
            ],
        ),
        reply("call_1", "15 degrees", false),
        reply("call_2", "Error: the arguments are not JSON", true),
        picture,
        Message::User("And?".into()),
        said("", Vec::new()),
        Message::System("You repeat yourself.".to_owned()),
        Message::User("Well?".into()),
    ]
}

/// A model that takes images, at a provider that answers none of two requests, for a reason that has nothing to do with
/// images.
async fn silent(provider: Provider, change: impl FnOnce(&mut ModelConfig)) -> Setup {
    let enough = || Reply::json(401, &json!({"error": "enough"}));
    let sees = |config: &mut ModelConfig| {
        config.images = Some(true);
        change(config);
    };
    Setup::with(provider, [enough(), enough()], sees).await
}

/// The body that a provider gets for the history.
async fn sent(provider: Provider, change: impl FnOnce(&mut ModelConfig)) -> String {
    let setup = silent(provider, change).await;
    let (turn, _) = setup.ask_after(&history(), true).await;
    turn.unwrap_err();
    pretty(&setup.server.captured()[0].body)
}

// ML-1, ML-6
#[tokio::test]
async fn anthropic_gets_its_rules() {
    insta::assert_snapshot!(sent(Provider::Anthropic, |_| {}).await);
}

// ML-1, ML-6
#[tokio::test]
async fn openai_gets_its_rules() {
    let change = |config: &mut ModelConfig| {
        config.max_tokens = Some(100);
        config.temperature = Some(0.5);
        config.think = Some(Think::Level("low".to_owned()));
        config.api_key = Some(Secret::new("k"));
    };
    insta::assert_snapshot!(sent(Provider::OpenAi, change).await);
}

// ML-1, ML-6
#[tokio::test]
async fn openai_responses_gets_its_rules() {
    let change = |config: &mut ModelConfig| {
        config.max_tokens = Some(100);
        config.temperature = Some(0.5);
        config.think = Some(Think::Level("low".to_owned()));
    };
    insta::assert_snapshot!(sent(Provider::OpenAiResponses, change).await);
}

// ML-1, ML-2, ML-6
#[tokio::test]
async fn ollama_gets_its_rules() {
    let change = |config: &mut ModelConfig| {
        config.max_tokens = Some(100);
        config.num_ctx = Some(8192);
        config.think = Some(Think::Switch(false));
    };
    insta::assert_snapshot!(sent(Provider::Ollama, change).await);
}

/// What the next request says of the message that the first reply became.
async fn replayed(provider: Provider, reply: Reply) -> serde_json::Value {
    let refusal = Reply::json(400, &json!({"error": "enough"}));
    let setup = Setup::new(provider, [reply, refusal]).await;
    let mut messages = vec![Message::User("Weather?".into())];
    let turn = setup.ask_after(&messages, true).await.0.unwrap();
    let results: Vec<_> = turn.message.tool_calls.iter().map(|call| call.id.clone()).collect();
    messages.push(Message::Ai(turn.message));
    messages.extend(results.into_iter().map(|tool_call_id| {
        Message::Tool(ToolReply { content: "ok".to_owned(), tool_call_id, ..ToolReply::default() })
    }));
    // Through a transcript, as a resumed conversation comes.
    let text = serde_json::to_string(&messages).unwrap();
    let messages: Vec<Message> = serde_json::from_str(&text).unwrap();
    setup.ask_after(&messages, true).await.0.unwrap_err();
    setup.server.captured()[1].body["messages"].clone()
}

// ML-1, ML-5: thoughts and signatures go back as they came, under the ids that the results name.
#[tokio::test]
async fn anthropic_sees_its_own_words_again() {
    let content = json!([
        {"type": "thinking", "thinking": "", "signature": "s", "vendor": 1.10},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "t", "name": "home_light", "input": {"n": 1.0}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "t", "name": "get_weather", "input": {}}]);
    let answer = json!({"content": content, "stop_reason": "tool_use", "usage": {}});
    let messages = replayed(Provider::Anthropic, Reply::json(200, &answer)).await;
    assert_eq!(
        messages[1]["content"].to_string(),
        r#"[{"type":"thinking","thinking":"","signature":"s","vendor":1.1},{"type":"tool_use","id":"t","name":"home_light","input":{"n":1.0},"caller":{"type":"direct"}},{"type":"tool_use","id":"call_1_1","name":"get_weather","input":{}}]"#
    );
    assert_eq!(
        messages[2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "t", "content": "ok"},
               {"type": "tool_result", "tool_use_id": "call_1_1", "content": "ok"}])
    );
}

// ML-1: reasoning fields and vendors' marks on calls.
#[tokio::test]
async fn openai_compatible_servers_see_their_reasoning_again() {
    let answer = json!({"choices": [{"finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "reasoning_content": "Hm", "reasoning_details": [{"type": "x"}],
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "home_light", "arguments": ""},
            "extra_content": {"google": {"thought_signature": "sig"}}}]}}]});
    let messages = replayed(Provider::OpenAi, Reply::json(200, &answer)).await;
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": null, "reasoning_content": "Hm", "reasoning_details": [{"type": "x"}],
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "home_light", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "sig"}}}]})
    );
}

// ML-1
#[tokio::test]
async fn ollama_sees_its_thoughts_again() {
    let line = r#"{"message":{"thinking":"Hm","content":"","tool_calls":[{"function":{"name":"home_light","arguments":{"a":1}}}]},"done":true}"#;
    let messages = replayed(Provider::Ollama, Reply::lines(&[line])).await;
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": "", "thinking": "Hm",
            "tool_calls": [{"id": "call_1_0", "function": {"index": 0, "name": "home_light", "arguments": {"a": 1}}}]})
    );
    assert_eq!(
        messages[2],
        json!({"role": "tool", "tool_name": "home_light", "tool_call_id": "call_1_0", "content": "ok"})
    );
}

// ML-1: nobody sees another's thoughts, and a message that was changed is told in our words.
#[tokio::test]
async fn native_content_stays_with_its_provider() {
    let native = |provider, content| Some(NativeContent { provider, content });
    let blocks = json!([{"type": "text", "text": "old"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}]);
    let arguments = Arguments::parse("{}");
    let calls = vec![ModelCall {
        id: "a".to_owned(),
        name: "f".to_owned(),
        args: arguments,
        recovered: false,
    }];
    let changed = AiMessage {
        content: "new".to_owned(),
        tool_calls: Vec::new(),
        native: native(Provider::Anthropic, blocks.clone()),
        pinned: false,
    };
    let foreign = AiMessage {
        content: "new".to_owned(),
        tool_calls: calls,
        native: native(Provider::OpenAi, json!({"message": {"reasoning_content": "secret"}})),
        pinned: true,
    };
    for (message, expected) in [
        (changed, json!([{"type": "text", "text": "new"}])),
        (
            foreign,
            json!([{"type": "text", "text": "new"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}]),
        ),
    ] {
        let setup = Setup::new(Provider::Anthropic, []).await;
        let messages = [Message::User("x".into()), Message::Ai(message)];
        setup.ask_after(&messages, true).await.0.unwrap_err();
        assert_eq!(setup.server.captured()[0].body["messages"][1]["content"], expected);
    }
}

// RS-6: sound goes to those who hear; for the others the line in the text must do.
#[tokio::test]
async fn audio_goes_to_models_that_hear() {
    let audio =
        |media_type: &str| Audio { media_type: media_type.to_owned(), data: "UklG".to_owned() };
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let reply = |id: &str, images: Vec<Image>, audio: Vec<Audio>| {
        let (content, tool_call_id) = ("[audio: audio/wav]".to_owned(), id.to_owned());
        Message::Tool(ToolReply { content, tool_call_id, images, audio, ..ToolReply::default() })
    };
    let sounds = vec![audio("audio/wav"), audio("audio/mpeg"), audio("audio/flac")];
    let messages = [
        Message::User("Listen".into()),
        said("", vec![call("a", "get_weather", "{}"), call("b", "get_weather", "{}")]),
        reply("a", Vec::new(), sounds),
        reply("b", vec![image], Vec::new()),
    ];
    for (provider, hears) in [
        (Provider::OpenAi, true),
        (Provider::OpenAi, false),
        (Provider::OpenAiResponses, true),
        (Provider::Anthropic, true),
        (Provider::Ollama, true),
    ] {
        let setup = silent(provider, |config| config.audio = hears).await;
        setup.ask_after(&messages, true).await.0.unwrap_err();
        let body = &setup.server.captured()[0].body;
        let sent = body.get("messages").unwrap_or(&body["input"]).clone();
        assert!(sent.to_string().contains("[audio: audio/wav]"), "{sent}");
        let heard = provider == Provider::OpenAi && hears;
        assert_eq!(sent.to_string().contains("UklG"), heard, "{provider}: {sent}");
        if heard {
            // After all results of the turn: a message between them would be rejected.
            let parts = json!([
                {"type": "text", "text": "Images from the tool results above:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "Audio from the tool results above:"},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}}]);
            assert_eq!(sent[4], json!({"role": "user", "content": parts}));
            assert_eq!(sent.as_array().unwrap().len(), 5);
        }
    }
}

// ML-4: the last turn, without tools.
#[tokio::test]
async fn a_turn_without_tools() {
    for (provider, shows_tools) in
        [(Provider::Anthropic, true), (Provider::OpenAi, false), (Provider::Ollama, false)]
    {
        let setup = silent(provider, |_| {}).await;
        let (messages, tools) = (history(), tools());
        let mut request = Request::new(&messages).with_tools(&tools);
        request.choice = ToolChoice::Never;
        setup.model.ask(&request, &|_| {}).await.unwrap_err();
        let request = Request::new(&messages);
        setup.model.ask(&request, &|_| {}).await.unwrap_err();
        let captured = setup.server.captured();
        assert_eq!(captured[0].body.get("tools").is_some(), shows_tools);
        let choice = shows_tools.then(|| json!({"type": "none"}));
        assert_eq!(captured[0].body.get("tool_choice").cloned(), choice);
        assert!(captured[1].body.get("tools").is_none());
    }
}

// ML-1: a caller may insist on a call, and show images.
#[tokio::test]
async fn what_a_caller_insists_on_is_sent() {
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let seen = UserMessage { images: vec![image], .."This?".into() };
    let one = json!({"type": "function", "function": {"name": "get_weather"}});
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let input =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let cases = [
        (
            Provider::Anthropic,
            [json!({"type": "any"}), json!({"type": "tool", "name": "get_weather"})],
            json!({"role": "user", "content": [
                {"type": "image", "source": source}, {"type": "text", "text": "This?"}]}),
            2,
        ),
        (
            Provider::OpenAi,
            [json!("required"), one],
            json!({"role": "user", "content": [{"type": "text", "text": "This?"}, url]}),
            2,
        ),
        (
            Provider::OpenAiResponses,
            [json!("required"), json!({"type": "function", "name": "get_weather"})],
            json!({"role": "user", "content": [{"type": "input_text", "text": "This?"}, input]}),
            2,
        ),
        (
            Provider::Ollama,
            [Value::Null, Value::Null],
            json!({"role": "user", "content": "This?", "images": ["AAAA"]}),
            1,
        ),
    ];
    for (provider, choices, message, shown) in cases {
        let setup = silent(provider, |_| {}).await;
        let (messages, tools) = ([Message::User(seen.clone())], tools());
        for choice in [ToolChoice::Any, ToolChoice::One("get_weather".to_owned())] {
            let mut request = Request::new(&messages).with_tools(&tools);
            request.choice = choice;
            setup.model.ask(&request, &|_| {}).await.unwrap_err();
        }
        let captured = setup.server.captured();
        for (captured, choice) in captured.iter().zip(&choices) {
            assert_eq!(&captured.body["tool_choice"], choice, "{provider}");
            let body = &captured.body;
            let sent = body.get("messages").unwrap_or(&body["input"]);
            assert_eq!(sent[0], message, "{provider}");
        }
        assert_eq!(captured[0].body["tools"].as_array().map(Vec::len), Some(2));
        assert_eq!(captured[1].body["tools"].as_array().map(Vec::len), Some(shown));
    }
}

// ML-6: the same request twice is the same text, so that prompt caches hit.
#[tokio::test]
async fn the_same_question_is_the_same_text() {
    for &provider in Provider::ALL {
        assert_eq!(sent(provider, |_| {}).await, sent(provider, |_| {}).await);
    }
}
