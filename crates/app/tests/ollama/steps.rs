//! What is asked of an Ollama through the program: `ask`, `chat` and `/v1`, streamed and not, and cancelled in the middle.
//! Nothing here depends on how clever the model is, except that it calls a tool when it is told to.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    serving::Serving,
    test_folder::{CommandOutput, TestFolder},
};

const WEATHER: &str = "What is the weather in Paris? Call get_weather to find out.";
const COUNT: &str = "Count from 1 to 1000, one number after the other. Do not stop before 1000.";

/// An Ollama, and which of its models is asked.
pub(crate) struct Ollama {
    pub(crate) url: String,
    pub(crate) model: String,
}

impl Ollama {
    /// All steps, one after the other.
    pub(crate) fn all(&self) {
        self.doctor_is_content();
        self.answers_in_every_form();
        self.calls_a_tool();
        self.chats_and_goes_on();
        self.serves_chat_clients();
        self.ends_when_cancelled();
    }

    /// A folder with the model under two names, and a tool.
    pub(crate) fn place(&self) -> TestFolder {
        let Self { url, model } = self;
        let table = |name: &str| {
            format!(
                "[models.{name}]\nprovider = 'ollama'\nmodel = '{model}'\nbase_url = '{url}'\ntemperature = 0\n\
                 num_ctx = 8192\nthink = false\nidle_timeout = '10m'\ntools = ['get_weather']\n"
            )
        };
        let tool = "[[tools]]\nname = 'get_weather'\ndescription = 'The weather of a city'\n\
            parameters = { type = 'object', properties = { city = { type = 'string' } }, required = ['city'] }\n\
            implementation = { type = 'mock', mock_response = '15 degrees and sunny' }\n";
        TestFolder::with_config(&format!("{}{}{tool}", table("local"), table("other")))
    }

    fn doctor_is_content(&self) {
        let ran = self.place().run(&["doctor", "--json"]);
        let report = ran.json();
        assert_eq!(report["models"][0]["reachable"], true, "{ran:?}");
        assert_eq!(report["models"][0].get("problem"), None, "{ran:?}");
    }

    fn answers_in_every_form(&self) {
        let place = self.place();
        for form in [&["--stream"][..], &["--no-stream"]] {
            let words = [&["ask", "--tools", ""], form, &["Say hello in one sentence."]].concat();
            let ran = place.run(&words);
            assert_eq!(ran.status, 0, "{ran:?}");
            assert!(!ran.stdout.trim().is_empty(), "{ran:?}");
        }
    }

    fn calls_a_tool(&self) {
        let place = self.place();
        for form in ["--stream", "--no-stream"] {
            let ran = place.run(&["ask", "--json", form, WEATHER]);
            let report = ran.json();
            assert_eq!(ran.status, 0, "{ran:?}");
            let call = &report["messages"][1]["tool_calls"][0];
            assert_eq!(call["name"], "get_weather", "{report}");
            let city = call["args"]["city"].as_str().unwrap_or_default();
            assert!(city.contains("Paris"), "{report}");
            let reply = &report["messages"][2];
            assert_eq!(reply["tool_call_id"], call["id"], "{report}");
            assert_eq!(reply["content"], "15 degrees and sunny", "{report}");
            assert!(report["usage"]["input_tokens"].as_u64() > Some(0), "{report}");
        }
    }

    fn chats_and_goes_on(&self) {
        let place = self.place();
        let talk = |words: &[&str], lines: &str| {
            let words = [&["chat", "--tools", ""], words].concat();
            let ran = place.run_with_stdin(&words, lines.as_bytes());
            assert_eq!(ran.status, 0, "{ran:?}");
            ran
        };
        let first = talk(&[], "My name is Ada.\nSay my name.\n");
        assert!(first.stdout.lines().count() >= 2, "{first:?}");
        assert_eq!(questions(&place), ("local".to_owned(), 2));
        let resumed = talk(&["--resume"], "Say it once more.\n/model other\n/model\n");
        assert!(resumed.stdout.contains("other"), "{resumed:?}");
        assert_eq!(questions(&place), ("other".to_owned(), 3), "{resumed:?}");
        talk(&["--resume"], "Thank you.\n");
        assert_eq!(questions(&place), ("other".to_owned(), 4));
    }

    fn serves_chat_clients(&self) {
        let place = self.place();
        let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
        let ask = |question: &str, stream: bool| {
            let body = chat_request(question, stream);
            serving.ask("POST", "/v1/chat/completions", "", &body)
        };
        let (status, answer) = ask(WEATHER, false);
        assert_eq!(status, 200, "{answer}");
        let said = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
        assert!(!said.trim().is_empty(), "{answer}");
        assert!(answer["usage"]["completion_tokens"].as_u64() > Some(0), "{answer}");
        let (status, chunks) = ask("Say hello in one sentence.", true);
        assert_eq!(status, 200, "{chunks}");
        let chunks = chunks.as_str().unwrap_or_default();
        assert!(chunks.contains("\"content\":") && chunks.contains("[DONE]"), "{chunks}");
    }

    fn ends_when_cancelled(&self) {
        let place = self.place();
        let mut child = place.command(&["ask", "--tools", "", COUNT]).spawn().unwrap();
        let mut shown = child.stdout.take().unwrap();
        shown.read_exact(&mut [0]).unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        shown.read_to_end(&mut Vec::new()).unwrap();
        let ran = CommandOutput::of(child.wait_with_output().unwrap());
        assert_eq!(ran.status, 130, "{ran:?}");

        let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
        let stream = serving.begin("/v1/chat/completions", &chat_request(COUNT, true));
        let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
        let says_something = |line: &String| {
            line.starts_with("data:")
                && line.contains("content")
                && !line.contains("\"content\":\"\"")
        };
        lines.find(says_something).expect("a stream that says something");
        drop(lines);
        // The next request is answered: the cancelled one no longer occupies the model.
        let next = chat_request("Say hello in one sentence.", false);
        let (status, answer) = serving.ask("POST", "/v1/chat/completions", "", &next);
        assert_eq!(status, 200, "{answer}");
    }
}

/// The model of the one chat that is saved, and how many questions were answered in it.
fn questions(place: &TestFolder) -> (String, usize) {
    let folder = place.path().join("state/switchboard/chats");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let chat: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let messages = chat["messages"].as_array().unwrap();
    let by = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
    assert_eq!(by("user"), by("assistant"), "{chat}");
    (chat["model"].as_str().unwrap().to_owned(), by("user"))
}

fn chat_request(question: &str, stream: bool) -> String {
    let messages = json!([{"role": "user", "content": question}]);
    json!({"model": "local", "messages": messages, "stream": stream}).to_string()
}
