//! What people are told of a change.

use serde_json::{Value, json};
use switchboard_lock::{ChangeKind, DefinitionKind, LockableDefinition, LockedServer, compare};

use crate::{definition, tool};

fn locked(entries: &[Value]) -> LockedServer {
    let mut server = LockedServer::default();
    entries.iter().for_each(|entry| server.put(definition(DefinitionKind::Tool, entry), None));
    server
}

fn definitions(entries: &[Value]) -> Vec<LockableDefinition> {
    entries.iter().map(|entry| definition(DefinitionKind::Tool, entry)).collect()
}

/// The lines of the diff of one tool, and the notes.
fn told(before: &Value, now: &Value) -> (Vec<String>, Vec<String>) {
    let locked = locked(std::slice::from_ref(before));
    let mut changes = compare(Some(&locked), &definitions(std::slice::from_ref(now)), true);
    let change = changes.pop().unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    (change.fields.iter().map(|field| field.text()).collect(), change.notes)
}

// LK-1
#[test]
fn words_that_changed_are_marked() {
    let with = |description: &str| json!({"name": "t", "description": description});
    let cases = [
        ("Reads a file.", "Deletes a file.", "description: [-Reads-]{+Deletes+} a file."),
        (
            "Reads a file.",
            "Reads a file. Then call us.",
            "description: Reads a file.{+ Then call us.+}",
        ),
        ("Reads one big file.", "Reads file.", "description: Reads [-one big -]file."),
        ("", "Reads.", "description: {+Reads.+}"),
        ("a b c d", "a x y d", "description: a [-b c-]{+x y+} d"),
    ];
    for (before, now, expected) in cases {
        assert_eq!(told(&with(before), &with(now)).0, [expected]);
    }
    let mut now = tool();
    now["inputSchema"]["properties"]["path"]["maxLength"] = json!(9000);
    now["inputSchema"]["properties"]["encoding"]["enum"] = json!(["utf-8", "latin-1", "raw"]);
    let expected = [
        "inputSchema.properties.encoding.enum: [\"latin-1\",\"{+raw\",\"+}utf-8\"]",
        "inputSchema.properties.path.maxLength: [-200-]{+9000+}",
    ];
    assert_eq!(told(&tool(), &now).0, expected);
}

// LK-1: what was removed and kept is the old text, what was kept and added the new one.
#[test]
fn a_diff_has_both_texts() {
    use switchboard_lock::{Fragment, word_diff};
    let texts = [
        "",
        "a",
        "a  b",
        "Reads a file. Works on one file.",
        "Reads two files.\nWorks on some files, not on one.",
        "äöü — “quoted” \u{200b}text",
        "one two three four",
        "four three two one",
    ];
    for old in texts {
        for new in texts {
            let diff = word_diff(old, new);
            let side = |is_new: bool| -> String {
                let kept = diff.iter().filter_map(|fragment| match fragment {
                    Fragment::Same(text) => Some(text.as_str()),
                    Fragment::Removed(text) => (!is_new).then_some(text.as_str()),
                    Fragment::Added(text) => is_new.then_some(text.as_str()),
                });
                kept.collect()
            };
            assert_eq!((side(false), side(true)), (old.to_owned(), new.to_owned()), "{diff:?}");
        }
    }
}

// LK-2
#[test]
fn what_matters_comes_first() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut now = tool();
        change(&mut now);
        told(&tool(), &now).1
    };
    type Cases<'a> = &'a [(&'a dyn Fn(&mut Value), &'a [&'a str])];
    let cases: Cases<'_> = &[
        (
            &|now| now["inputSchema"]["properties"]["note"] = json!({"type": "string"}),
            &["`note` is a new parameter that takes any text"],
        ),
        (
            &|now| now["inputSchema"]["properties"]["note"] = json!({"type": "integer"}),
            &["`note` is a new parameter"],
        ),
        (
            &|now| now["inputSchema"]["properties"]["encoding"] = json!({"type": "string"}),
            &["`encoding` now takes any text"],
        ),
        (
            &|now| now["inputSchema"]["properties"]["range"]["properties"]["why"] = json!({}),
            &["`range.why` is a new parameter that takes any text"],
        ),
        (
            &|now| now["inputSchema"]["additionalProperties"] = json!(true),
            &["it now takes parameters that it does not name"],
        ),
        (
            &|now| now["annotations"]["readOnlyHint"] = json!(false),
            &["it no longer says that it only reads"],
        ),
        (
            &|now| now["annotations"]["destructiveHint"] = json!(true),
            &["it no longer says that it destroys nothing"],
        ),
        (
            &|now| now["annotations"]["openWorldHint"] = json!(true),
            &["it may now reach other systems"],
        ),
        (&|now| now["title"] = json!("Other"), &[]),
    ];
    for (change, expected) in cases {
        assert_eq!(changed(change), *expected);
    }
    let mut before = tool();
    before["annotations"]["readOnlyHint"] = json!(false);
    let notes = told(&before, &tool()).1;
    assert_eq!(notes, ["it now says that it only reads, which may spare it an approval"]);
}

// LK-2
#[test]
fn new_arguments_of_a_prompt_matter() {
    let prompt = |arguments: Value| {
        definition(DefinitionKind::Prompt, &json!({"name": "p", "arguments": arguments}))
    };
    let mut server = LockedServer::default();
    server.put(prompt(json!([{"name": "code"}, {"name": "style"}])), None);
    let now = prompt(json!([
        {"name": "code", "required": true}, {"name": "style"}, {"name": "note"}, {"name": "history", "required": true},
    ]));
    let changes = compare(Some(&server), &[now], true);
    let expected = [
        "`code` now has to be given",
        "`note` is a new argument",
        "`history` is a new argument that has to be given",
    ];
    assert_eq!(changes[0].notes, expected);
}

// LK-2: wherever a schema may hide it.
#[test]
fn what_matters_is_found_in_lists_alternatives_and_shared_schemas() {
    let with = |schema: Value| json!({"name": "t", "inputSchema": schema});
    let choice = json!({"type": "string", "enum": ["a", "b"]});
    let text = json!({"type": "string"});
    let list = |item: &Value| json!({"properties": {"tags": {"type": "array", "items": item}}});
    let optional =
        |item: &Value| json!({"properties": {"tag": {"anyOf": [item, {"type": "null"}]}}});
    let shared = |item: &Value| json!({"properties": {"tag": {"$ref": "#/$defs/Tag"}}, "$defs": {"Tag": item}});
    let (few, more) = (json!({"a": choice}), json!({"a": choice, "note": text}));
    let branch = |own: &Value| json!({"oneOf": [{"properties": few}, {"properties": own}]});
    let object = |own: &Value| json!({"properties": {"of": {"type": "array", "items": {"properties": own}}}});
    for (before, now, expected) in [
        (list(&choice), list(&text), "`tags[]` now takes any text"),
        (optional(&choice), optional(&text), "`tag` now takes any text"),
        (shared(&choice), shared(&text), "`$defs.Tag` now takes any text"),
        (branch(&few), branch(&more), "`note` is a new parameter that takes any text"),
        (object(&few), object(&more), "`of[].note` is a new parameter that takes any text"),
    ] {
        assert_eq!(
            told(&with(before.clone()), &with(now.clone())).1.first().map(String::as_str),
            Some(expected),
            "{now}"
        );
        assert_eq!(told(&with(now), &with(before)).1, Vec::<String>::new());
    }
    // One that may be left out takes any text all the same.
    let now = with(json!({"properties": {"note": {"anyOf": [text, {"type": "null"}]}}}));
    let notes = told(&with(json!({"properties": {}})), &now).1;
    assert_eq!(notes, ["`note` is a new parameter that takes any text"]);
}

// LK-2
#[test]
fn a_twin_under_another_name_is_told_as_a_rename() {
    let renamed = |description: &str| {
        let mut now = tool();
        now["name"] = json!("load_file");
        now["description"] = json!(description);
        compare(Some(&locked(&[tool()])), &definitions(&[now]), true)
    };
    let kinds = |changes: &[switchboard_lock::Change]| {
        changes.iter().map(|change| change.change.clone()).collect::<Vec<_>>()
    };
    let from = || vec![ChangeKind::Renamed { from: "read_file".to_owned() }];
    let text = tool()["description"].as_str().unwrap().to_owned();
    assert_eq!(kinds(&renamed(&text)), from());
    // Rewritten in part, with the same parameters.
    let rewritten =
        "Loads a file of the project and returns its whole text. Works on one file at a time.";
    let changes = renamed(rewritten);
    assert_eq!(kinds(&changes), from());
    assert_eq!(changes[0].fields.len(), 1, "{changes:?}");
    // Something else under a new name is new, and the other one is gone.
    let gone = renamed("Sends a message to somebody.");
    assert_eq!(kinds(&gone), [ChangeKind::New, ChangeKind::Gone]);
    assert!(!gone[1].change.waits());
    // What is still there was not renamed.
    let both = compare(
        Some(&locked(&[tool()])),
        &definitions(&[tool(), {
            let mut copy = tool();
            copy["name"] = json!("copy");
            copy
        }]),
        true,
    );
    assert_eq!(kinds(&both), [ChangeKind::New]);
}

// A server that lists thousands of other tools must not keep us busy.
#[test]
fn many_changes_take_little_time() {
    let many = |prefix: &str, count: usize| -> Vec<Value> {
        let tool = |number: usize| {
            let description =
                format!("{prefix} reads the thing number {number} and returns all of its text. ")
                    .repeat(20);
            json!({"name": format!("{prefix}{number}"), "description": description, "inputSchema": {"properties": {"path": {"type": "string"}}}})
        };
        (0..count).map(tool).collect()
    };
    let (locked, now) = (locked(&many("a", 1000)), definitions(&many("b", 5000)));
    let changes = compare(Some(&locked), &now, true);
    assert!(changes.len() >= 5000, "{}", changes.len());
}
