use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check_with(words: &[&str], schema: &Value, stdin: &[u8]) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let arguments = read(&words, Some(schema), &mut &*stdin);
    arguments.map(Value::Object).map_err(|error| error.to_string())
}

fn check(words: &[&str]) -> Result<Value, String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": ["number", "null"]},
            "on": {"type": "boolean"},
            "mode": {"enum": ["fast", 2, true, null]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "either": {"type": ["string", "integer"]},
            "options": {"$ref": "#/$defs/Options"},
            "a.b": {"type": "integer"},
            "a": {"type": "object"},
        },
        "$defs": {"Options": {"type": "object", "properties": {
            "unit": {"type": "string"},
            "depth": {"type": "integer"},
            "inner": {"type": "object", "properties": {"x": {"type": "number"}}},
        }}},
    });
    check_with(words, &schema, b"")
}

#[test]
fn json_is_taken_as_it_is() {
    assert_eq!(check(&[]), Ok(json!({})));
    assert_eq!(check(&[r#"{"a=b":"c=d"}"#]), Ok(json!({"a=b": "c=d"})));
    let digits = r#"{"n":12345678901234567890123,"f":1.0}"#;
    assert_eq!(check(&[digits]).unwrap().to_string(), digits);
}

#[test]
fn stdin_is_json_too() {
    let stdin = |bytes: &[u8]| check_with(&["-"], &json!({}), bytes);
    assert_eq!(stdin(b" {\"a\": 1}\n"), Ok(json!({"a": 1})));
    assert_eq!(stdin(b"\xef\xbb\xbf{}"), Ok(json!({})));
    assert!(stdin(b"").unwrap_err().contains("stdin is empty"));
    assert!(stdin(b"{\"a\":\"\xff\"}").unwrap_err().contains("not UTF-8 text (byte 7)"));
    assert!(stdin(b"[]").unwrap_err().contains("not array"));
    assert!(stdin(b"{\n  oops").unwrap_err().contains("line 2, column 3"));
}

#[test]
fn wrong_json_shows_where_it_broke() {
    let error = check(&[r#"{"a": tru}"#]).unwrap_err();
    assert!(error.contains("line 1, column 10\n  1 | {\"a\": tru}\n    |          ^\n"), "{error}");
    for (word, says) in [
        ("[1]", "not array"),
        ("\"text\"", "not string"),
        (
            "hello",
            "`hello` is neither a JSON object nor a key=value pair, and there is more than one parameter: `text`, ",
        ),
        (
            "5",
            "; arguments are key=value or key:=JSON pairs, a JSON object in single quotes ('{\"name\":\"value\"}'), or -",
        ),
        ("", "neither"),
    ] {
        let error = check(&[word]).unwrap_err();
        assert!(error.contains(says), "{word}: {error}");
    }
    for words in [&["{a:", "1}"][..], &["{}", "a=1"], &["a=1", "-"]] {
        let error = check(words).unwrap_err();
        assert!(error.contains("cannot stand beside"), "{error}");
    }
}

#[test]
fn pairs_are_typed_by_the_schema() {
    let all = [
        "text=5",
        "count=5",
        "ratio=1.50",
        "on=true",
        "mode=2",
        "tags=a",
        "numbers=1",
        "numbers=2",
        "either=7",
    ];
    let json = r#"{"text":"5","count":5,"ratio":1.50,"on":true,"mode":2,"tags":["a"],"numbers":[1,2],"either":7}"#;
    assert_eq!(check(&all).unwrap().to_string(), json);
    assert_eq!(check(&["mode=fast"]), Ok(json!({"mode": "fast"})));
    assert_eq!(check(&["mode=null", "ratio=null"]), Ok(json!({"mode": null, "ratio": null})));
    assert_eq!(check(&["either=007"]), Ok(json!({"either": "007"})));
    assert_eq!(check(&["text="]), Ok(json!({"text": ""})));
    assert_eq!(check(&["text=a=b"]), Ok(json!({"text": "a=b"})));
    assert_eq!(check(&["text={\"a\":1}"]), Ok(json!({"text": "{\"a\":1}"})));
    assert_eq!(check(&["tags=[\"a\",\"b\"]", "tags=c"]), Ok(json!({"tags": ["a", "b", "c"]})));
    // What does not fit stays as it is; validation says what is wrong.
    assert_eq!(check(&["count=five", "on=yes"]), Ok(json!({"count": "five", "on": "yes"})));
}

#[test]
fn dots_lead_into_declared_objects() {
    assert_eq!(
        check(&["options.unit=celsius", "options.depth=3", "options.inner.x=1", "options.free=9"]),
        Ok(json!({"options": {"unit": "celsius", "depth": 3, "inner": {"x": 1}, "free": 9}}))
    );
    assert_eq!(check(&["a.b=1", "a.c=x"]), Ok(json!({"a.b": 1, "a": {"c": "x"}})));
    assert_eq!(check(&["nobody.knows=1", "text.x=1"]), Ok(json!({"nobody.knows": 1, "text.x": 1})));
    assert_eq!(
        check(&["options={\"depth\":1}", "options.unit=k"]),
        Ok(json!({"options": {"depth": 1, "unit": "k"}}))
    );
    assert!(check(&["options:=1", "options.unit=k"]).unwrap_err().contains("not an object"));
}

#[test]
fn undeclared_values_are_json_where_they_look_like_it() {
    assert_eq!(
        check(&[
            "n=12345678901234567890123",
            "b=false",
            "o={\"x\":[1]}",
            "s=hello",
            "q=\"x\"",
            "z=null"
        ])
        .unwrap()
        .to_string(),
        r#"{"n":12345678901234567890123,"b":false,"o":{"x":[1]},"s":"hello","q":"\"x\"","z":null}"#
    );
    assert_eq!(check(&["free=1", "free=b"]), Ok(json!({"free": [1, "b"]})));
}

#[test]
fn a_colon_forces_json() {
    assert_eq!(check(&["text:=5", "x:=\"5\""]), Ok(json!({"text": 5, "x": "5"})));
    assert_eq!(check(&["options.depth:=\"3\""]), Ok(json!({"options": {"depth": "3"}})));
    let error = check(&["text:=[1,"]).unwrap_err();
    assert!(error.contains("the value of `text`") && error.contains('^'), "{error}");
}

#[test]
fn what_cannot_be_a_pair_is_named() {
    assert!(check(&["a=1", "b"]).unwrap_err().contains("`b` is not a key=value pair"));
    assert!(check(&["=5"]).unwrap_err().contains("no key"));
    assert!(check(&["count=1", "count=2"]).unwrap_err().contains("given twice"));
    assert!(check(&["options={oops"]).unwrap_err().contains("the value of `options`"));
}

#[test]
fn a_value_alone_is_for_the_only_parameter_that_must_be_there() {
    let zone = json!({"type": "object", "required": ["zone"], "properties": {
        "zone": {"type": "string"}, "digits": {"type": "integer"}, "a/b": {"type": "string"},
    }});
    let check = |words: &[&str]| check_with(words, &zone, b"");
    assert_eq!(check(&["Europe/Berlin"]), Ok(json!({"zone": "Europe/Berlin"})));
    assert_eq!(check(&["2+2", "digits=3"]), Ok(json!({"zone": "2+2", "digits": 3})));
    assert_eq!(check(&["5"]), Ok(json!({"zone": "5"})));
    assert_eq!(check(&[""]), Ok(json!({"zone": ""})));
    // What could be a parameter's name before the `=` makes a pair; other text does not.
    let address = "https://host/?q=1&r=2";
    assert_eq!(check(&[address]), Ok(json!({"zone": address})));
    assert_eq!(check(&["2 * x == 4"]), Ok(json!({"zone": "2 * x == 4"})));
    assert_eq!(check(&["x=4"]), Ok(json!({"x": 4})));
    assert_eq!(check(&["a/b=4"]), Ok(json!({"a/b": "4"})));
    assert_eq!(check(&["{}"]), Ok(json!({})));
    for (words, says) in [
        (&["2", "+", "2"][..], "`+` is not a key=value pair; a value with spaces needs quotes"),
        (&["digits=1", "late"], "`late` is not a key=value pair"),
        (&["UTC", "zone=UTC"], "`zone` is given twice"),
        (&["[1]"], "must be a JSON object"),
        (&["UTC", "{}"], "cannot stand beside"),
    ] {
        let error = check(words).unwrap_err();
        assert!(error.contains(says), "{words:?}: {error}");
    }
    let optional = json!({"properties": {"count": {"type": "integer"}}});
    assert_eq!(check_with(&["5"], &optional, b""), Ok(json!({"count": 5})));
    let either =
        json!({"required": ["a"], "anyOf": [{"required": ["b"]}], "properties": {"a": {}}});
    assert!(check_with(&["5"], &either, b"").is_err());
    let none = check_with(&["5"], &json!({"type": "object"}), b"").unwrap_err();
    assert!(none.contains("no parameters are declared"), "{none}");
    // There is no such tool, which the executor says.
    let words = ["5".to_owned(), "a=1".to_owned()];
    let read = read(&words, None, &mut &b""[..]).unwrap();
    assert_eq!(Value::Object(read), json!({"a": 1}));
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_words_and_no_schema_panic(
        words in prop::collection::vec("[-a-c.:=\\[\\]{}\"0-9 ü\\PC]{0,12}", 0..4),
        schema in json_values(),
        stdin: Vec<u8>,
    ) {
        let _ = read(&words, Some(&schema), &mut &*stdin);
        let _ = read(&words, None, &mut &*stdin);
    }

    #[test]
    fn any_json_object_comes_through(entries in prop::collection::hash_map(any::<String>(), json_values(), 0..5)) {
        let object = Value::Object(entries.into_iter().collect());
        let text = object.to_string();
        prop_assert_eq!(check_with(&[&text], &json!({}), b""), Ok(object.clone()));
        prop_assert_eq!(check_with(&["-"], &json!({}), text.as_bytes()), Ok(object));
    }

    #[test]
    fn declared_strings_and_forced_json_come_through(text: String, value in json_values()) {
        let schema = json!({"properties": {"s": {"type": "string"}}});
        let words = [format!("s={text}"), format!("j:={value}")];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        prop_assert_eq!(check_with(&words, &schema, b""), Ok(json!({"s": text, "j": value})));
    }
}
