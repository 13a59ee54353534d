use std::{fs, sync::Mutex};

use crate::{StopReason, ToolReply};

use super::*;

/// A script of this text under this name; the folder must live as long as its file is wanted.
fn script(name: &str, text: &str) -> (tempfile::TempDir, Result<Script, ScriptError>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    let script = Script::load(&file);
    (folder, script)
}

/// Asks once: what was heard, and the turn or its failure without the folder.
async fn ask(script: &Script, last: Message, stream: bool) -> (Vec<String>, Result<Turn, String>) {
    let heard = Mutex::new(Vec::new());
    let messages = [last];
    let mut request = Request::new(&messages);
    request.stream = stream;
    let turn = script.ask(&request, &|event| heard.lock().unwrap().push(event)).await;
    let heard = heard.into_inner().unwrap().into_iter().map(|event| match event {
        ModelEvent::Text(text) => text,
        ModelEvent::Reasoning(text) => format!("({text})"),
        ModelEvent::CallSeen { name } => format!("call {name}"),
        ModelEvent::Usage(usage) => {
            format!("{} in, {} out", usage.input_tokens, usage.output_tokens)
        }
        other => format!("{other:?}"),
    });
    let folder = format!("{}/", script.file.parent().unwrap().display());
    (heard.collect(), turn.map_err(|error| error.to_string().replace(&folder, "")))
}

/// The number of the turn that follows these messages.
fn turn_after(script: &Script, messages: &[Message]) -> usize {
    script.next(messages).unwrap().0
}

#[test]
fn a_script_that_repeats_begins_anew_with_every_question() {
    let text = r#"{"repeat": true, "turns": [{"text": "one"}, {"text": "two"}]}"#;
    let (_folder, script) = script("s.json", text);
    let script = script.unwrap();
    let ai = || Message::Ai(AiMessage::text("said"));
    let asked = [user("a"), ai(), ai(), user("b"), ai()];
    // Conversations do not disturb each other.
    for (messages, number) in [(1, 1), (2, 2), (3, 1), (4, 1), (5, 2), (1, 1)] {
        assert_eq!(turn_after(&script, &asked[..messages]), number, "{messages} messages");
    }
}

#[test]
fn the_settings_name_a_file_or_the_demo() {
    let config = |model: &str| ModelConfig::new(Provider::Script, model);
    let demo = crate::connect(&config(DEMO)).unwrap();
    assert_eq!((demo.provider(), demo.name()), (Provider::Script, "demo"));
    assert_eq!("script".parse(), Ok(Provider::Script));
    let error = crate::connect(&config("no/such.json")).err().unwrap();
    assert_eq!(error.message, "failed to read script `no/such.json`");
    assert_eq!(error.kind, FailureKind::Config);
}

fn user(text: &str) -> Message {
    Message::User(text.into())
}

#[tokio::test(start_paused = true)]
async fn turns_come_as_the_file_says() {
    let text = r#"{"turns": [
        {"expect": "weather", "delay": "2s", "pause": "1s", "reasoning": "Hm", "text": "I will look.",
         "tool_calls": [{"name": "weather", "args": {"n": 1.50}}, {"id": "b", "name": "weather", "args": "{\"n\":"}],
         "usage": {"input_tokens": 7, "output_tokens": 3}},
        {"expect": "21", "text": "It is 21.", "stop": "max_tokens"},
        {"text": "Half", "error": "it burns"},
        {"expect": "something else", "text": "never"}
    ]}"#;
    let (_folder, script) = script("s.json", text);
    let script = script.unwrap();
    let began = tokio::time::Instant::now();
    let (heard, turn) = ask(&script, user("How is the weather?"), true).await;
    assert_eq!(began.elapsed().as_secs(), 6);
    assert_eq!(
        heard,
        ["(Hm)", "I ", "will ", "look.", "call weather", "call weather", "7 in, 3 out"]
    );
    let turn = turn.unwrap();
    assert_eq!((turn.stop, turn.message.tool_calls.len()), (StopReason::ToolUse, 2));
    let args: Vec<_> =
        turn.message.tool_calls.iter().map(|call| serde_json::to_string(&call.args)).collect();
    assert_eq!(args[0].as_ref().unwrap(), r#"{"n":1.50}"#);
    assert!(turn.message.tool_calls[1].to_tool_call().is_err());

    let reply = ToolReply { content: "21 degrees".to_owned(), ..ToolReply::default() };
    let (heard, turn) = ask(&script, Message::Tool(reply), false).await;
    assert_eq!((heard[0].as_str(), turn.unwrap().stop), ("It is 21.", StopReason::MaxTokens));

    let (heard, turn) = ask(&script, user("?"), true).await;
    assert_eq!(
        (heard, turn.unwrap_err()),
        (vec!["Half".to_owned()], "s.json: turn 3: it burns".to_owned())
    );
    let says = "s.json: turn 4: expected `something else` in the last message, which is `?`";
    assert_eq!(ask(&script, user("?"), true).await.1.unwrap_err(), says);
    let says = "s.json: the script ends after 4 turns; add another";
    assert_eq!(ask(&script, user("?"), true).await.1.unwrap_err(), says);
}

#[tokio::test]
async fn toml_and_bare_lists_are_scripts_too() {
    let toml = "[[turns]]\ntext = 'Hi'\n[[turns.tool_calls]]\nname = 'f'\nargs = { a = 1 }\n";
    for (name, text) in
        [("s.toml", toml), ("s.json", r#"[{"text":"Hi","tool_calls":[{"name":"f"}]}]"#)]
    {
        let (_folder, script) = script(name, text);
        let (heard, turn) = ask(&script.unwrap(), user("?"), true).await;
        assert_eq!((heard[0].as_str(), turn.unwrap().message.tool_calls.len()), ("Hi", 1));
    }
}

#[test]
fn wrong_files_are_told_by_line() {
    let check = |name: &str, text: &str| {
        let (folder, script) = script(name, text);
        let folder = format!("{}/", folder.path().display());
        script.unwrap_err().to_string().replace(&folder, "")
    };
    let says = check("s.json", "{\"turns\": [\n  {\"txt\": \"Hi\"}\n]}");
    assert!(says.starts_with("s.json:2: unknown field `txt`, expected one of `expect`"), "{says}");
    assert!(check("s.json", "{\"turns\": [\n").starts_with("s.json:2: EOF"));
    assert!(check("s.json", "[\n{\"delay\": 5}]").starts_with("s.json:2: "));
    assert_eq!(check("s.json", "[]"), "s.json:1: the script has no turns");
    let says = check("s.toml", "[[turns]]\ntext = 'a'\n[[turns]]\ntxt = 1\n");
    assert!(says.starts_with("s.toml:4: unknown field `txt`"), "{says}");
    let error = Script::load(Path::new("/nowhere/s.json")).unwrap_err();
    assert_eq!(error.to_string(), "failed to read script `/nowhere/s.json`");
}
