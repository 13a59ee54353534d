use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parameters() -> Parameters {
    Parameters::of(&json!({
        "properties": {"count": {}, "path": {}},
        "allOf": [{"properties": {"$top": {}}}, {"oneOf": [{"properties": {"user-id": {}}}]}],
    }))
}

fn filled(text: &str, args: Value) -> Option<String> {
    let template = Template::parse(text, &parameters()).unwrap();
    template.fill(args.as_object().unwrap())
}

// TK-1
#[test]
fn names_in_braces_stand_for_arguments() {
    let args = json!({"count": 3, "path": "a b", "$top": 1.5, "user-id": true});
    for (text, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("{count}", "3"),
        ("-n{count}", "-n3"),
        ("{path}{count}", "a b3"),
        ("{$top}/{user-id}", "1.5/true"),
        // Escaped.
        ("{{count}}", "{count}"),
        ("{{{count}}}", "{{count}}"),
        ("{{unknown}}", "{unknown}"),
        ("{{unknown}}}", "{unknown}}"),
        // Braces of other languages.
        ("{print $1}", "{print $1}"),
        ("{}", "{}"),
        ("{{.Names}}", "{{.Names}}"),
        ("{a: {b: .c}}", "{a: {b: .c}}"),
        ("{\"n\":{count}}", "{\"n\":3}"),
        ("{{count}", "{3"),
        ("{ count }", "{ count }"),
        ("{count", "{count"),
        ("count}", "count}"),
        ("{{{{", "{{{{"),
    ] {
        assert_eq!(filled(text, args.clone()).as_deref(), Some(expected), "{text}");
    }
}

// TK-1, RS-3
#[test]
fn values_keep_their_digits_and_what_is_left_out_leaves_nothing() {
    let big: Value = serde_json::from_str(r#"{"count":12345678901234567890.10}"#).unwrap();
    assert_eq!(filled("{count}", big).as_deref(), Some("12345678901234567890.10"));
    let list = json!({"count": [1, "a", {"b": null}]});
    assert_eq!(filled("{count}", list).as_deref(), Some(r#"[1,"a",{"b":null}]"#));
    assert_eq!(filled("{count}/{path}", json!({"count": 1})), None);
    assert_eq!(filled("{path}", json!({"path": null})), None);
    // A value is no template.
    let nested = json!({"count": "{path}", "path": "x"});
    assert_eq!(filled("{count}", nested).as_deref(), Some("{path}"));
}

// TK-1
#[test]
fn an_unknown_name_is_an_error_that_names_the_nearest() {
    let problem = |text: &str| Template::parse(text, &parameters()).unwrap_err();
    assert_eq!(
        problem("-n {coutn}"),
        "`{coutn}` stands for no parameter; did you mean `{count}`? (`{{coutn}}` is the text)"
    );
    assert!(problem("{zzz}").contains("there are `{$top}`, `{count}`, `{path}`, `{user-id}`"));
    let none = Parameters::of(&json!({"type": "object"}));
    let problem = Template::parse("{x}", &none).unwrap_err();
    assert!(problem.contains("its `parameters` declare none"), "{problem}");
}

proptest! {
    // TK-1: whatever a value is, it stands where its placeholder stood, and nothing else changes.
    #[test]
    fn a_value_never_changes_what_is_around_it(
        before in "[^{}]{0,8}", value in any::<String>(), after in "[^{}]{0,8}"
    ) {
        let args = json!({"path": value});
        let expected = format!("{before}{value}{after}");
        prop_assert_eq!(filled(&format!("{before}{{path}}{after}"), args), Some(expected));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[{}a-c$ ]{0,12}") {
        let _ = Template::parse(&text, &parameters());
    }
}
