//! What means the same has the same hash, and nothing else has.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};
use switchboard_lock::{DefinitionKind, LockMode};

use crate::{
    TestLock,
    corpus::texts::{own_tools, real_tools},
    definition, tool,
};

fn hash(entry: &Value) -> String {
    definition(DefinitionKind::Tool, entry).hash()
}

/// The value with the keys of all objects the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().rev().map(|(key, value)| (key.clone(), reversed(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(list) => Value::Array(list.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

// LK-1
#[test]
fn keywords_may_be_names_of_parameters() {
    let of = |properties: Value| json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}});
    let one =
        of(json!({"default": {"type": ["string", "null"]}, "required": {"enum": ["a", "b"]}}));
    let same =
        of(json!({"required": {"enum": ["b", "a"]}, "default": {"type": ["null", "string"]}}));
    assert_eq!(hash(&one), hash(&same));
    // In data the order counts.
    let data = |list: Value| of(json!({"x": {"default": {"enum": list}}}));
    assert_ne!(hash(&data(json!(["a", "b"]))), hash(&data(json!(["b", "a"]))));
    let tuple = |list: Value| of(json!({"x": {"prefixItems": list}}));
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    let turned = tuple(json!([number, text]));
    assert_ne!(hash(&tuple(json!([text, number]))), hash(&turned));
    let needs =
        |list: Value| json!({"name": "t", "inputSchema": {"dependentRequired": {"a": list}}});
    assert_eq!(hash(&needs(json!(["b", "c"]))), hash(&needs(json!(["c", "b"]))));
}

#[test]
fn texts_are_not_normalised() {
    let of = |text: &str| hash(&json!({"name": "t", "description": text}));
    // Composed and decomposed, and a text with the escape of itself.
    assert_ne!(of("\u{e9}"), of("e\u{301}"));
    assert_ne!(of("\u{200b}"), of("\\u200b"));
    assert_ne!(of("1"), hash(&json!({"name": "t", "description": 1})));
    let number = |number: &str| {
        let entry = format!(r#"{{"name": "t", "inputSchema": {{"maximum": {number}}}}}"#);
        hash(&serde_json::from_str(&entry).unwrap())
    };
    assert_ne!(number("9007199254740993"), number("9007199254740992"));
}

#[test]
fn a_large_icon_counts() {
    let of = |last: char| {
        let src = format!("data:image/png;base64,{}{last}", "A".repeat(5000));
        json!({"name": "t", "icons": [{"src": src}]})
    };
    assert_ne!(hash(&of('A')), hash(&of('B')));
}

/// JSON as servers send it, without the keywords whose lists have no order.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec(("[a-z$]{1,6}", inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    // LK-1
    #[test]
    fn the_order_of_keys_does_not_matter(schema in json_value(), text: String) {
        let entry = json!({"name": "t", "description": text, "inputSchema": schema});
        prop_assert_eq!(hash(&entry), hash(&reversed(&entry)));
    }

    // LK-1
    #[test]
    fn a_lock_file_gives_back_what_was_put_in(schema in json_value(), text: String, name in "[^\\s].{0,12}") {
        let entry = json!({"name": name, "title": text, "description": text, "inputSchema": schema, "extra": schema});
        let place = TestLock::with(&[(DefinitionKind::Tool, entry.clone())], LockMode::Enforce);
        let admitted = place.gate.instance().admit(DefinitionKind::Tool, vec![reversed(&entry)]);
        prop_assert_eq!(admitted.len(), 1, "{:?}", place.gate.pending());
    }
}

// LK-1, LK-2: more than a thousand tools of real servers, listed again with their keys in another order.
#[test]
fn real_tools_that_have_not_changed_are_not_reported() {
    for set in ["own", "other", "reference"] {
        let tools = real_tools(&own_tools(set));
        // Each under a name of its own: the sets have several servers.
        let entry = |(number, tool): (usize, &crate::corpus::texts::RealTool)| {
            let mut entry = tool.definition.entry.clone();
            entry.insert("name".to_owned(), json!(format!("{}_{number}", tool.definition.name)));
            (DefinitionKind::Tool, Value::Object(entry))
        };
        let entries: Vec<_> = tools.iter().enumerate().map(entry).collect();
        let place = TestLock::with(&entries, LockMode::Enforce);
        for _ in 0..3 {
            let again = entries.iter().rev().map(|(_, entry)| reversed(entry)).collect();
            let instance = place.gate.instance();
            assert_eq!(instance.admit(DefinitionKind::Tool, again).len(), entries.len());
            assert_eq!(place.waiting(), [""; 0], "{set}");
        }
        // A restarted process reads the same from the file.
        place.locks.reload().unwrap();
        let all = entries.iter().map(|(_, entry)| entry.clone()).collect();
        assert_eq!(place.gate.instance().admit(DefinitionKind::Tool, all).len(), entries.len());
    }
}

#[test]
fn an_entry_may_be_locked_twice_with_the_same_text() {
    let place = TestLock::with(&[(DefinitionKind::Tool, tool())], LockMode::Enforce);
    let before = std::fs::read(place.store().file()).unwrap();
    let put = |file: &mut switchboard_lock::LockFile| {
        let server = file.servers.get_mut("books").unwrap();
        server.put(definition(DefinitionKind::Tool, &reversed(&tool())), None);
    };
    place.store().update(put).unwrap();
    assert_eq!(std::fs::read(place.store().file()).unwrap(), before);
}
