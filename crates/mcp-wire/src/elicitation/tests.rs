use serde_json::json;
use switchboard_runtime::validate::checker;

use super::*;

fn read(params: &Value) -> Result<Elicitation, String> {
    Elicitation::read(params, checker)
}

fn form(schema: &Value) -> Result<ElicitForm, String> {
    match read(&json!({"message": "m", "requestedSchema": schema}))? {
        Elicitation::Form(form) => Ok(form),
        Elicitation::Page(_) => Err("a page".to_owned()),
    }
}

fn field(schema: &Value) -> Result<Field, String> {
    let form = form(&json!({"type": "object", "properties": {"x": schema}}))?;
    form.fields.into_iter().next().ok_or_else(|| "no field".to_owned())
}

/// What is made of something typed.
fn typed(schema: &Value, text: &str) -> String {
    match field(schema).and_then(|field| field.parse(text)) {
        Ok(value) => value.to_string(),
        Err(problem) => problem,
    }
}

#[test]
fn what_is_typed_becomes_a_value_of_the_schema() {
    let whole = json!({"type": "integer", "minimum": 1, "maximum": 100});
    let text = json!({"type": "string", "minLength": 2, "maxLength": 4});
    let format = |format: &str| json!({"type": "string", "format": format});
    let one = json!({"type": "string", "enum": ["a", "b"], "enumNames": ["Apple", "Banana"]});
    let titled = json!({"type": "string", "oneOf": [{"const": "h1", "title": "Superman"}]});
    let several = json!({
        "type": "array", "minItems": 1, "maxItems": 2,
        "items": {"anyOf": [{"const": "f1", "title": "Tuna"}, {"const": "f2", "title": "Cod"}, {"const": "f3"}]},
    });
    let whole_is = "must be a whole number from 1 to 100";
    let (email_is, date_is) =
        ("must be an email address, such as ada@example.org", "must be a date, such as 2026-07-28");
    let time_is = "must be a date and time, such as 2026-07-28T09:30:00Z";
    let cases = [
        (&whole, "42", "42"),
        (&whole, "0", whole_is),
        (&whole, "1.5", whole_is),
        (&whole, "forty", whole_is),
        (&json!({"type": "number"}), "3.10", "3.10"),
        (&json!({"type": "number", "minimum": 0}), "-1", "must be a number of at least 0"),
        (&text, "abc", "\"abc\""),
        (&text, "a", "must be text from 2 to 4 characters"),
        (
            &json!({"type": "string", "pattern": "^[a-z]$"}),
            "A",
            "must be text that matches ^[a-z]$",
        ),
        (&format("email"), "ada@example.org", "\"ada@example.org\""),
        (&format("email"), "ada@example", email_is),
        (&format("email"), "a b@example.org", email_is),
        (&format("uri"), "example", "must be an address, such as https://example.org/"),
        (&format("date"), "2026-02-28", "\"2026-02-28\""),
        (&format("date"), "2026-02-30", date_is),
        (&format("date-time"), "2026-02-28T09:30:00+01:00", "\"2026-02-28T09:30:00+01:00\""),
        (&format("date-time"), "2026-02-28", time_is),
        (&json!({"type": "boolean"}), "Yes", "true"),
        (&json!({"type": "boolean"}), "n", "false"),
        (&json!({"type": "boolean"}), "maybe", "must be yes or no"),
        (&one, "2", "\"b\""),
        (&one, "apple", "\"a\""),
        (&one, "3", "must be one of the 2 choices"),
        (&titled, "Superman", "\"h1\""),
        (&titled, "h1", "\"h1\""),
        (&several, "1, f3", "[\"f1\",\"f3\"]"),
        (&several, "1,2,3", "must be some of the 3 choices from 1 to 2"),
        (&several, "1,x", "must be some of the 3 choices from 1 to 2"),
    ];
    for (schema, text, expected) in cases {
        assert_eq!(typed(schema, text), expected, "{schema} {text}");
    }
}

#[test]
fn a_default_that_does_not_fit_is_none() {
    let default = |schema: &Value| field(schema).unwrap().default;
    assert_eq!(default(&json!({"type": "integer", "default": 42})), Some(json!(42)));
    assert_eq!(default(&json!({"type": "integer", "default": "42"})), None);
    assert_eq!(default(&json!({"type": "string", "format": "email", "default": "x"})), None);
}

#[test]
fn an_answer_from_elsewhere_is_checked() {
    let schema = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    });
    let problems = |content: &Value| {
        let checked = form(&schema).unwrap().check(content.as_object().unwrap());
        let said = checked.err().unwrap_or_default().into_iter();
        said.map(|(name, problem)| format!("{name} {problem}")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(problems(&json!({"name": "Ada", "age": 36})), "");
    assert_eq!(problems(&json!({"name": "Ada"})), "");
    assert_eq!(
        problems(&json!({"age": "x", "more": 1})),
        "name must be given; age must be a whole number; more was not asked for"
    );
}

// A server can send anything: what cannot be asked is refused with the reason.
#[test]
fn what_cannot_be_asked_is_refused() {
    let refused = |params: &Value| match read(params) {
        Ok(_) => "asked".to_owned(),
        Err(reason) => reason,
    };
    let schema = |schema: Value| json!({"message": "m", "requestedSchema": schema});
    let many: Map<_, _> =
        (0..1000).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
    let property = |own: Value| schema(json!({"type": "object", "properties": {"x": own}}));
    let choices: Vec<_> = (0..501).map(|n| format!("c{n}")).collect();
    let page = |url: &str| json!({"mode": "url", "message": "m", "url": url, "elicitationId": "1"});
    let cases = [
        (
            json!({"message": "m".repeat(1 << 20)}),
            "it has 1048590 bytes, and 65536 at most can be shown",
        ),
        (
            schema(json!({"type": "object", "properties": many})),
            "it has 1000 fields, and 100 at most can be asked",
        ),
        (
            property(json!({"type": "object"})),
            "its field 'x' is of the type \"object\", which cannot be asked for",
        ),
        (property(json!(7)), "its field 'x' is of the type null, which cannot be asked for"),
        (property(json!({"type": "array", "items": {}})), "its field 'x' is a list of no choices"),
        (property(json!({"type": "string", "enum": []})), "its field 'x' has no choices"),
        (
            property(json!({"type": "string", "enum": [1]})),
            "its field 'x' has a choice that is not text",
        ),
        (
            property(json!({"type": "string", "enum": choices})),
            "its field 'x' has 501 choices, and 500 at most can be shown",
        ),
        (schema(json!({"properties": 7})), "its fields are not an object"),
        (json!({"mode": "dance"}), "its mode 'dance' is not known"),
        (page("nowhere"), "its address is not a URL: relative URL without a base"),
        (
            page("javascript:alert(1)"),
            "its address is not a web page: it begins with 'javascript:'",
        ),
        (page("file:///etc/passwd"), "its address is not a web page: it begins with 'file:'"),
    ];
    for (params, expected) in cases {
        assert_eq!(refused(&params), expected);
    }
    let pattern = property(json!({"type": "string", "pattern": "("}));
    assert!(refused(&pattern).starts_with("its field 'x' has a schema that cannot be used: "));
    assert_eq!(refused(&json!({"message": "Go on?"})), "asked");
}

// The host is what browsers connect to, whatever the address looks like.
#[test]
fn the_host_of_a_page_is_told() {
    let host = |url: &str| match read(&json!({"mode": "url", "url": url})) {
        Ok(Elicitation::Page(page)) => page.host,
        _ => panic!("no page"),
    };
    assert_eq!(host("https://example.org/x?y"), "example.org");
    assert_eq!(host("https://bank.example@evil.example/"), "evil.example");
    assert_eq!(host("https://аррӏе.com/"), "xn--80ak6aa92e.com");
}
