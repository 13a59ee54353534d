//! `chat` through a pipe: each line a turn, saved and resumed. On a terminal: `chat_in_tmux.rs`.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    ask::scripted,
    test_folder::{CommandOutput, TestFolder},
};

/// A place that keeps chats, with a script of these turns.
fn talking(turns: Value) -> TestFolder {
    let place = scripted("", turns);
    let state = place.path().join("state").display().to_string();
    place.variable("XDG_STATE_HOME", &state)
}

/// A chat with the script, in which these lines are said.
fn chat(place: &TestFolder, words: &[&str], lines: &str) -> CommandOutput {
    let words = [&["chat", "-m", "script:script.json"], words].concat();
    place.run_with_stdin(&words, lines.as_bytes())
}

/// The files of all chats, by name.
fn kept(place: &TestFolder) -> Vec<PathBuf> {
    let folder = place.path().join("state/switchboard/chats");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Who said something, in order.
fn roles(transcript: &Value) -> Vec<&str> {
    transcript["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect()
}

#[test]
fn each_line_is_a_turn_and_is_saved() {
    // ML-8
    let place = talking(json!([
        {"expect": "one", "text": "First **answer**.",
         "tool_calls": [{"name": "echo", "args": {"n": 1.5}}]},
        {"text": "After the call."},
        {"expect": "/two", "text": "Second."},
    ]));
    let ran = chat(&place, &["--system", "Be brief."], "one\n\n//two\n");
    let expected = (0, "First **answer**.\nAfter the call.\nSecond.\n", "");
    assert_eq!((ran.status, &*ran.stdout, &*ran.stderr), expected, "{ran:?}");
    let files = kept(&place);
    let [file] = &files[..] else { panic!("{files:?}") };
    let transcript = read(file);
    let said = ["system", "user", "assistant", "tool", "assistant", "user", "assistant"];
    assert_eq!(roles(&transcript), said);
    assert_eq!(transcript["model"], "script:script.json");
    assert!(transcript.to_string().contains("\"n\":1.5"), "{transcript}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn commands_are_obeyed() {
    // ML-8, ML-9
    let place = talking(json!([{"text": "One."}, {"text": "Two."}]))
        .file("other.json", r#"[{"text": "Other."}]"#)
        .file("taken.json", "mine");
    let lines = "/tols\n/zzz\n/tools\n/model\n/model nobody\n1\n/save mine.json\n/save taken.json\n/save mine.json\n\
                 /save\n/clear\n/model script:other.json\n2\n/help\n/quit\nnever said\n";
    let ran = chat(&place, &["--tools", "math_*"], lines);
    for expected in [
        "there is no command /tols; did you mean /tools?",
        "there is no command /zzz; /help lists them",
        "there is no model `nobody`",
        "`taken.json` is there already",
        "saved as mine.json",
        "/switchboard/chats/",
        "a new chat begins",
        "script:other.json answers from now on",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
    assert!(ran.stdout.starts_with("math_eval  Evaluates"), "{ran:?}");
    assert!(!ran.stdout.contains("echo "), "{ran:?}");
    assert!(ran.stdout.contains("\nscript:script.json\nOne.\nOther.\n/help "), "{ran:?}");
    assert!(!ran.stdout.contains("Two."), "{ran:?}");
    assert_eq!(roles(&read(&place.path().join("mine.json"))), ["user", "assistant"]);
    assert_eq!(fs::read_to_string(place.path().join("taken.json")).unwrap(), "mine");
    let models = kept(&place).into_iter().map(|file| read(&file)["model"].to_string());
    let models: BTreeSet<_> = models.collect();
    assert_eq!(
        models.into_iter().collect::<Vec<_>>(),
        ["\"script:other.json\"", "\"script:script.json\""]
    );
}

#[test]
fn a_chat_goes_on_where_it_was() {
    // ML-5, ML-8
    let place = talking(json!([{"expect": "Who am I?", "text": "You are Ada."}]));
    chat(&place, &[], "Who am I?\n");
    let first = kept(&place).remove(0);
    let id = first.file_stem().unwrap().to_str().unwrap().to_owned();
    for which in [None, Some(&id[..12]), Some(&*id), Some(first.to_str().unwrap())] {
        let words: Vec<_> = ["chat", "--resume"].into_iter().chain(which).collect();
        // The script of the chat's model starts over, and must be asked the same.
        let ran = place.run_with_stdin(&words, b"Who am I?\n");
        assert_eq!((ran.status, &*ran.stdout), (0, "You are Ada.\n"), "{which:?} {ran:?}");
    }
    assert_eq!(roles(&read(&first)).len(), 10);
    assert_eq!(kept(&place).len(), 1);

    // What is broken is repaired, and what is elsewhere stays as it is.
    let broken = json!([
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "echo", "args": {}}]},
        {"role": "tool", "content": "?", "tool_call_id": "nobody"},
    ]);
    let place = place.file("broken.json", broken.to_string());
    let ran = chat(&place, &["--resume", "broken.json", "--system", "New."], "Who am I?\n");
    assert_eq!(ran.status, 0, "{ran:?}");
    let files = kept(&place);
    let repaired =
        files.iter().map(|file| read(file)).find(|chat| roles(chat)[0] == "system").unwrap();
    assert_eq!(roles(&repaired), ["system", "user", "assistant", "tool", "user", "assistant"]);
    assert_eq!(repaired["messages"][3]["tool_call_id"], "a");
    assert_eq!(fs::read_to_string(place.path().join("broken.json")).unwrap(), broken.to_string());
}

#[test]
fn chats_are_listed() {
    let place = talking(json!([{"text": "Yes."}, {"text": "No."}]));
    let none = place.run(&["chat", "--list"]);
    assert_eq!((none.status, &*none.stdout), (0, ""), "{none:?}");
    assert_eq!(place.run(&["chat", "--list", "--json"]).json(), json!([]));
    chat(&place, &[], "Is this\tlisted?\nAnd this?\n");
    let list = place.run(&["chat", "--list", "--json"]).json();
    assert_eq!((&list[0]["turns"], &list[0]["title"]), (&json!(2), &json!("Is this listed?")));
    let text = place.run(&["chat", "--list"]).stdout;
    assert!(text.starts_with(list[0]["id"].as_str().unwrap()), "{text}");
    assert!(text.ends_with("\t2\tscript:script.json\tIs this listed?\n"), "{text}");
    let place = place.file("state/switchboard/chats/bad.json", "{");
    let list = place.run(&["chat", "--list", "--json"]);
    assert_eq!(list.json().as_array().unwrap().len(), 1);
    assert!(list.stderr.contains("bad.json` is not a chat"), "{list:?}");
}

#[test]
fn what_fails_is_told_and_the_rest_goes_on() {
    let place = talking(json!([{"error": "it burns"}, {"text": "Fine."}]));
    let ran = chat(&place, &[], "one\ntwo\n");
    assert_eq!((ran.status, &*ran.stdout), (1, "Fine.\n"), "{ran:?}");
    assert!(ran.stderr.contains("error: no answer: script.json: turn 1: it burns"), "{ran:?}");
    assert_eq!(roles(&read(&kept(&place)[0])), ["user", "user", "assistant"]);

    // A model that is gone is replaced by the usual one, with a word.
    let config = "[models.near]\nprovider = \"openai\"\nmodel = \"m\"\n\
                  base_url = \"http://127.0.0.1:1/v1\"\nmax_retries = 0\n";
    let place = place.file("switchboard.toml", config);
    fs::remove_file(place.path().join("script.json")).unwrap();
    let ran = place.run_with_stdin(&["chat", "--resume"], b"three\n");
    assert_eq!((ran.status, &*ran.stdout), (1, ""), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "the chat's model is left: model `script:script.json`: failed to read script"
        ),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("no answer: could not reach openai"), "{ran:?}");
    assert_eq!(read(&kept(&place)[0])["model"], "near");

    // Without a place to save them chats go on, and say so.
    let homeless = scripted("", json!([{"text": "Fine."}])).homeless();
    let ran = chat(&homeless, &[], "one\n");
    assert_eq!((ran.status, &*ran.stdout), (0, "Fine.\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("the chat is not saved: neither XDG_STATE_HOME nor HOME"),
        "{ran:?}"
    );
}

#[test]
fn wrong_usage_of_chat_ends_with_2() {
    let place = talking(json!([{"text": "Yes."}]));
    let script = ["chat", "-m", "script:script.json"];
    for (words, expected) in [
        (&["--resume"][..], "there is no chat to go on with yet"),
        (&["--resume", "nothing"], "there is no chat `nothing`; `switchboard chat --list`"),
        (&["--resume", "script.json"], "`script.json` is not a chat"),
        (&["--json"], "--list"),
        (&["--list", "--resume"], "cannot be used with"),
    ] {
        let says = place.refusal(&[&script, words].concat());
        assert!(says.contains(expected), "{words:?}: {says}");
    }
    let says = place.refusal(&["chat", "-m", "nobody"]);
    assert!(says.contains("there is no model `nobody`"), "{says}");
}
