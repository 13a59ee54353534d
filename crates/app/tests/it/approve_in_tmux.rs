//! Questions on a real terminal, which tmux provides: one key answers, Ctrl-C is a no.

use serde_json::json;

use crate::{ask::scripted, chat_in_tmux::Terminal, test_folder::TestFolder};

const ASK: &str = "[policy]\nask = [\"echo\"]\n";

#[test]
fn a_key_answers() {
    let place = TestFolder::with_config(ASK);
    for (key, said, outcome) in [
        ("y", "  allowed\n", "✓ echo "),
        ("n", "  denied\n", "was denied by a person"),
        ("C-c", "  denied\n", "was denied by a person"),
        ("Escape", "  denied\n", "was denied by a person"),
        ("a", "  allowed, and always with these arguments\n", "✓ echo "),
    ] {
        let terminal = Terminal::start(&place, "call echo a=1");
        let screen = terminal.shows("Allow it? [y]es, [n]o");
        assert!(screen.contains("? echo wants to run (ask \"echo\")"), "{screen}");
        assert!(screen.contains("      \"a\": 1"), "{screen}");
        terminal.types("x", key);
        let screen = terminal.shows("ended with");
        assert!(screen.contains(said) && screen.contains(outcome), "{key}: {screen}");
        // What is typed is seen again: the terminal is as it was.
        terminal.types("typed", "Enter");
        terminal.shows("typed\ntyped");
    }
    let terminal = Terminal::start(&place, "call echo a=1");
    let screen = terminal.shows("ended with 0");
    assert!(!screen.contains("Allow it?"), "it was allowed for good: {screen}");
}

#[test]
fn who_decides_elsewhere_takes_the_question_away() {
    let place = TestFolder::with_config(ASK).variable("USER", "ada");
    let terminal = Terminal::start(&place, "call echo a=1");
    terminal.shows("Allow it?");
    let list = place.run(&["approve", "--json"]).json();
    assert_eq!(place.run(&["approve", list[0]["id"].as_str().unwrap()]).status, 0);
    let screen = terminal.shows("ended with 0");
    assert!(screen.contains("allowed elsewhere by ada at a terminal"), "{screen}");
    terminal.types("typed", "Enter");
    terminal.shows("typed\ntyped");

    let late = TestFolder::with_config("[policy]\nask = [\"echo\"]\nask_timeout = \"1s\"\n");
    let terminal = Terminal::start(&late, "call echo a=1");
    let screen = terminal.shows("ended with 1");
    assert!(
        screen.contains("too late") && screen.contains("nobody allowed it within 1s"),
        "{screen}"
    );
}

// PO-2
#[test]
fn a_call_is_shown_on_the_terminal_where_it_is_allowed() {
    let place = TestFolder::with_config(ASK);
    let waiting = Terminal::start(&place, "call echo a=1 note=x");
    waiting.shows("Allow it?");
    let list = place.run(&["approve", "--json"]).json();
    let id = list[0]["id"].as_str().unwrap();
    let terminal = Terminal::start(&place, &format!("approve {id}"));
    let screen = terminal.shows("Allow it? [y/N]");
    assert!(
        screen.contains("      \"a\": 1") && screen.contains("      \"note\": \"x\""),
        "{screen}"
    );
    terminal.types("n", "Enter");
    terminal.shows("nothing was decided");
    let terminal = Terminal::start(&place, &format!("approve {id}"));
    terminal.shows("Allow it? [y/N]");
    terminal.types("y", "Enter");
    terminal.shows("echo runs now");
    waiting.shows("ended with 0");
}

// PO-2
#[test]
fn a_prompt_shows_every_line_and_every_character() {
    let place = TestFolder::with_config(ASK);
    let words: Vec<_> = (0..40).map(|number| format!("line{number}=x")).collect();
    let terminal = Terminal::start(&place, &format!("call echo {}", words.join(" ")));
    let screen = terminal.shows("Allow it?");
    assert!(screen.contains("\"line39\": \"x\"") && !screen.contains("more lines"), "{screen}");
    terminal.types("", "n");
    terminal.shows("ended with 1");
}

// PO-2
#[test]
fn with_four_eyes_nobody_allows_their_own_call_at_the_terminal() {
    let place = TestFolder::with_config("[policy]\nask = [\"echo\"]\nfour_eyes = true\n");
    let terminal = Terminal::start(&place, "call echo a=1");
    let screen = terminal.shows("ended with 1");
    assert!(screen.contains("who asks cannot allow") && !screen.contains("Allow it?"), "{screen}");
}

// ML-5, ML-8
#[test]
fn a_chat_asks_for_each_call_and_goes_on() {
    let turns = json!([
        {"text": "I will try.", "tool_calls": [
            {"id": "1", "name": "echo", "args": {"n": 1}}, {"id": "2", "name": "echo", "args": {"n": 2}}]},
        {"text": "One of two."},
        {"expect": "more", "text": "We go on."},
    ]);
    let place = scripted(ASK, turns);
    let terminal = Terminal::start(&place, "chat -m script:script.json");
    terminal.shows("with 9 tools");
    terminal.prompts();
    terminal.types("go", "Enter");
    let screen = terminal.shows("Allow it?");
    let first = if screen.contains("\"n\": 1") { 1 } else { 2 };
    assert_eq!(screen.matches("Allow it?").count(), 1, "one at a time: {screen}");
    terminal.types("", "y");
    let second = format!("\"n\": {}", 3 - first);
    terminal.shows(&second);
    terminal.types("", "C-c");
    let screen = terminal.shows("One of two.");
    assert!(screen.contains("  allowed\n") && screen.contains("  denied\n"), "{screen}");
    assert!(screen.contains("✓ echo") && screen.contains("was denied by a person"), "{screen}");
    terminal.prompts();
    terminal.types("more", "Enter");
    terminal.shows("We go on.");
}
