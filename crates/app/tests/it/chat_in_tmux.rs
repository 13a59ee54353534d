//! `chat` on a real terminal, which tmux provides: streaming, the spinner, Ctrl-C in the middle of a call, resuming.

use std::{
    cell::RefCell,
    fs,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use crate::{
    ask::scripted,
    fixture::{section, wait_until},
    test_folder::TestFolder,
};

/// A terminal with a chat in it. It ends with its owner.
pub(crate) struct Terminal<'a> {
    place: &'a TestFolder,
    socket: String,
}

impl<'a> Terminal<'a> {
    /// Starts `switchboard` with these words; when it ends, the terminal says so.
    pub(crate) fn start(place: &'a TestFolder, words: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = place.path().join(format!("tmux{number}")).display().to_string();
        let terminal = Self { place, socket };
        let binary = env!("CARGO_BIN_EXE_switchboard");
        // Ctrl-C reaches the shell too, which must not end of it.
        let line = format!("trap : INT; {binary} {words}; echo \"ended with $?\"; exec cat");
        let size = ["-x", "80", "-y", "24"];
        terminal.tmux(&[&["-f", "/dev/null", "new-session", "-d"][..], &size, &[&line]].concat());
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(words).current_dir(self.place.path()).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
        command.env("TERM", "screen").envs(self.place.variables());
        let output = command.output().expect("tmux is installed: cargo xtask test does it");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Types, then presses a key.
    pub(crate) fn types(&self, text: &str, key: &str) {
        if !text.is_empty() {
            self.tmux(&["send-keys", "-l", text]);
        }
        self.tmux(&["send-keys", key]);
    }

    /// What is on the screen now, with the codes of colours or without.
    pub(crate) fn screen(&self, with_codes: bool) -> String {
        let codes = if with_codes { "-pe" } else { "-p" };
        String::from_utf8(self.tmux(&["capture-pane", codes]).stdout).unwrap()
    }

    /// Waits until the screen shows this.
    pub(crate) fn shows(&self, text: &str) -> String {
        let seen = RefCell::new(String::new());
        wait_until(&format!("the screen shows `{text}`"), || {
            seen.replace(self.screen(false));
            seen.borrow().contains(text)
        });
        seen.into_inner()
    }

    /// Waits for the prompt on the last line.
    pub(crate) fn prompts(&self) {
        wait_until("the prompt is there", || {
            self.screen(false).trim_end().lines().last().is_some_and(|line| line.trim_end() == ">")
        });
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.args(["-S", &self.socket, "kill-server"]).output();
    }
}

/// The only chat that the place keeps.
fn kept(place: &TestFolder) -> Value {
    let mut files = fs::read_dir(place.path().join("state/switchboard/chats")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn text_streams_and_is_laid_out() {
    // ML-8
    let place = scripted(
        "",
        json!([
            {"text": "One **two** three four.", "pause": "1s", "usage": {"input_tokens": 1200, "output_tokens": 4}},
        ]),
    );
    let terminal = Terminal::start(&place, "chat -m script:script.json");
    terminal.shows("script:script.json with 9 tools; /help");
    terminal.prompts();
    terminal.types("count", "Enter");
    let half = terminal.shows("One two");
    assert!(!half.contains("four."), "{half}");
    terminal.shows("One two three four.\n1,200 tokens in, 4 out, ");
    assert!(terminal.screen(true).contains("One \x1b[1mtwo"), "{}", terminal.screen(true));
    terminal.prompts();
    terminal.types("", "Up");
    terminal.shows("> count");
    terminal.types("", "C-c");
    terminal.shows("Ctrl-C once more ends the chat");
    terminal.types("", "C-c");
    terminal.shows("ended with 0");
    let history = place.path().join("state/switchboard/chat_history");
    assert_eq!(fs::read_to_string(history).unwrap(), "count\n");
}

#[test]
fn an_interrupt_in_the_middle_of_a_call_leaves_a_chat_that_goes_on() {
    // ML-5, ML-8, EX-4
    let turns = json!([
        {"tool_calls": [{"id": "quick", "name": "echo", "args": {"a": 1}},
                        {"id": "slow", "name": "slow__echo", "args": {"text": "x"}}]},
        {"expect": "And now?", "text": "We go on."},
    ]);
    let place = scripted(&section("slow", "never-answers-tools-call"), turns);
    let terminal = Terminal::start(&place, "chat -m script:script.json");
    terminal.shows("with 11 tools");
    terminal.prompts();
    terminal.types("go", "Enter");
    terminal.shows("✓ echo {\"a\":1}");
    let screen = terminal.shows(" slow__echo {\"text\":\"x\"} ");
    let spins = |screen: &str| screen.contains(['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']);
    assert!(spins(&screen), "{screen}");
    terminal.types("", "C-c");
    let screen = terminal.shows("cancelled; what was finished is kept");
    assert!(screen.contains("✗ slow__echo") && !spins(&screen), "{screen}");
    terminal.prompts();
    let messages = kept(&place)["messages"].clone();
    assert_eq!(messages[2]["content"], "{\"echo\":{\"a\":1}}", "{messages}");
    assert_eq!(
        (&messages[3]["tool_call_id"], &messages[3]["is_error"]),
        (&json!("slow"), &json!(true))
    );
    terminal.types("And now?", "Enter");
    terminal.shows("We go on.");
    terminal.prompts();
    terminal.types("", "C-d");
    terminal.shows("ended with 0");
    drop(terminal);

    fs::write(
        place.path().join("script.json"),
        json!([{"expect": "Still?", "text": "Still."}]).to_string(),
    )
    .unwrap();
    let terminal = Terminal::start(&place, "chat --resume");
    terminal.shows("go (questions so far: 2)");
    terminal.prompts();
    terminal.types("Still?", "Enter");
    terminal.shows("\nStill.\n");
    terminal.prompts();
    terminal.types("/quit", "Enter");
    terminal.shows("ended with 0");
    let roles: Vec<_> = kept(&place)["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].to_string())
        .collect();
    let expected = ["user", "assistant", "tool", "tool", "user", "assistant", "user", "assistant"];
    assert_eq!(roles, expected.map(|role| format!("\"{role}\"")));
}

#[test]
fn ask_shows_what_it_does() {
    // ML-8
    let place = scripted(
        "",
        json!([
            {"delay": "2s", "tool_calls": [{"name": "nobody"}]},
            {"text": "Done.", "usage": {"input_tokens": 3, "output_tokens": 1}},
        ]),
    );
    let terminal = Terminal::start(&place, "ask -m script:script.json hello");
    terminal.shows(" thinking ");
    let screen = terminal.shows("ended with 0");
    let expected = "\n    Error: Unknown tool \"nobody\"\nDone.\n3 tokens in, 1 out, ";
    assert!(screen.contains("✗ nobody 0.") && screen.contains(expected), "{screen}");
}
