use proptest::prelude::*;
use serde_json::json;
use switchboard_toolcall::ErrorKind;

use super::{request::HttpRequest, *};
use crate::{definition::Implementation, template::Parameters};

fn parameters() -> Parameters {
    let names = ["city", "id", "query", "count", "tags", "body"];
    let names = names.map(|name| (name.to_owned(), json!({})));
    Parameters::of(&json!({"properties": serde_json::Map::from_iter(names)}))
}

fn template(implementation: Value) -> Result<RequestTemplate, String> {
    let mut implementation = implementation;
    implementation["type"] = "http".into();
    let implementation: Implementation = serde_json::from_value(implementation).unwrap();
    let url = implementation.url.clone().unwrap();
    RequestTemplate::new(&implementation, &url, &parameters())
        .map_err(|wrong| format!("{}: {}", wrong.key, wrong.problem))
}

fn filled(implementation: Value, args: Value) -> Result<HttpRequest, ToolError> {
    template(implementation).unwrap().fill(args.as_object().unwrap())
}

fn url(text: &str, args: Value) -> Result<String, ToolError> {
    filled(json!({"url": text}), args).map(|request| request.url.to_string())
}

fn body(request: &HttpRequest) -> &str {
    std::str::from_utf8(request.body.as_deref().unwrap_or_default()).unwrap()
}

// TK-2: the example of the contract.
#[test]
fn the_example_of_the_contract() {
    let implementation = json!({
        "method": "POST", "url": "https://api.example/{city}", "query": {"q": "{query}"},
        "headers": {"X-City": "{city}!"}, "json": {"title": "about {city}", "count": "{count}"},
    });
    let args = json!({"city": "Köln/Bonn", "query": "a&b=c d", "count": 3});
    let request = filled(implementation.clone(), args).unwrap();
    assert_eq!(request.method, "POST");
    assert_eq!(request.url.as_str(), "https://api.example/K%C3%B6ln%2FBonn?q=a%26b%3Dc%20d");
    assert_eq!(request.headers["x-city"].as_bytes(), "Köln/Bonn!".as_bytes());
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(body(&request), r#"{"title":"about Köln/Bonn","count":3}"#);
    // What belongs to an argument that was left out is left out.
    let request = filled(implementation, json!({"city": "Rome"})).unwrap();
    assert_eq!(request.url.as_str(), "https://api.example/Rome");
    assert_eq!(body(&request), r#"{"title":"about Rome"}"#);
}

// TK-2
#[test]
fn values_stand_in_path_and_query_and_change_nothing_else() {
    for (text, args, expected) in [
        ("http://h", json!({}), "http://h/"),
        ("http://h:81/a/b/", json!({}), "http://h:81/a/b/"),
        ("http://u:p@h/{id}", json!({"id": 7}), "http://u:p@h/7"),
        ("http://h/{id}.json", json!({"id": ".."}), "http://h/...json"),
        ("http://h/{id}?x=1#no", json!({}), ""),
        ("http://h/{id}", json!({"id": "a?b#c%2f@:"}), "http://h/a%3Fb%23c%252f%40%3A"),
        ("http://h/x?a={id}&b=2&c={count}", json!({"count": 1.5}), "http://h/x?b=2&c=1.5"),
        ("http://h/x?a={id}", json!({"id": "&\n"}), "http://h/x?a=%26%0A"),
        ("http://h?a={id}", json!({"id": [1, 2]}), "http://h/?a=%5B1%2C2%5D"),
    ] {
        if expected.is_empty() {
            assert!(template(json!({"url": text})).is_err(), "{text}");
        } else {
            assert_eq!(url(text, args).unwrap(), expected, "{text}");
        }
    }
    let implementation = json!({
        "url": "http://h/x?a=1", "query": {"tags": "{tags}", "n": 5, "both": ["x", "{id}"], "lang": "de"},
    });
    let request = filled(implementation, json!({"tags": ["a b", true]})).unwrap();
    assert_eq!(request.url.query(), Some("a=1&tags=a%20b&tags=true&n=5&both=x&lang=de"));
}

// TK-2
#[test]
fn a_value_that_would_change_the_path_is_refused() {
    let refused = |text: &str, args: Value| {
        let error = url(text, args).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters);
        error.for_model
    };
    let dots = "Invalid parameters: 'id' must not contain the path segment '.' or '..': it stands in the path of the URL";
    for value in [
        ".",
        "..",
        "%2e",
        "%2E%2e",
        "%252e.",
        "../x",
        "a/../b",
        "a\\..\\b",
        "a%2f..%2fb",
        "x/.",
        "%25252e%2e",
    ] {
        assert_eq!(refused("http://h/a/{id}/b", json!({"id": value})), dots, "{value}");
    }
    assert_eq!(refused("http://h/%2e{id}", json!({"id": "."})), dots);
    assert_eq!(refused("http://h/{id}", json!({})), "Invalid parameters: missing 'id'");
    assert_eq!(refused("http://h/{id}", json!({"id": null})), "Invalid parameters: missing 'id'");
    let empty = "Invalid parameters: 'id' must not be empty: it stands in the path of the URL";
    assert_eq!(refused("http://h/users/{id}", json!({"id": ""})), empty);
}

// TK-2
#[test]
fn headers_have_no_line_breaks() {
    let implementation =
        json!({"url": "http://h/", "headers": {"X-Id": "<{id}>", "X-Count": "{count}"}});
    for (value, what) in [
        ("a\r\nX-Evil: 1", "a line break"),
        ("a\n", "a line break"),
        ("\u{0}", "a control character"),
    ] {
        let error = filled(implementation.clone(), json!({"id": value})).unwrap_err();
        let text = format!(
            "Invalid parameters: 'id' must not contain {what}: it stands in a header of the request"
        );
        assert_eq!((error.kind, error.for_model), (ErrorKind::InvalidParameters, text));
    }
    let request = filled(implementation, json!({"id": "ok"})).unwrap();
    assert_eq!((request.headers.len(), request.headers["x-id"].to_str().unwrap()), (1, "<ok>"));
}

// TK-2, RS-3
#[test]
fn bodies_are_what_the_config_says() {
    let sent = |body_of: Value, args: &str| {
        let mut implementation = body_of;
        implementation["url"] = "http://h/".into();
        let args: Value = serde_json::from_str(args).unwrap();
        let request = filled(implementation, args).unwrap();
        let media_type =
            request.headers.get("content-type").map(|it| it.to_str().unwrap().to_owned());
        (request.method.to_string(), media_type, body(&request).to_owned())
    };
    let post = |media_type: &str, body: &str| {
        ("POST".to_owned(), Some(media_type.to_owned()), body.to_owned())
    };
    let json_of = json!({"json": {"n": "{count}", "t": "n={count}", "l": ["{id}", "{tags}"], "k": {"{id}": 1.0}}});
    assert_eq!(
        sent(json_of.clone(), r#"{"count":12345678901234567890.10,"tags":[true,null]}"#),
        post(
            "application/json",
            r#"{"n":12345678901234567890.10,"t":"n=12345678901234567890.10","l":[[true,null]],"k":{"{id}":1.0}}"#
        )
    );
    assert_eq!(
        sent(json_of, r#"{"id":null}"#),
        post("application/json", r#"{"l":[null],"k":{"{id}":1.0}}"#)
    );
    let whole = json!({"json": "{body}"});
    assert_eq!(sent(whole.clone(), r#"{"body":[1]}"#), post("application/json", "[1]"));
    assert_eq!(sent(whole, "{}"), ("POST".to_owned(), None, String::new()));
    assert_eq!(
        sent(
            json!({"form": {"a b": "{id}", "c": "{count}", "t": "{tags}"}}),
            r#"{"id":"x&y z+","tags":[1,2]}"#
        ),
        post("application/x-www-form-urlencoded", "a+b=x%26y+z%2B&t=1&t=2")
    );
    assert_eq!(
        sent(
            json!({"text": "<{id}>", "method": "put", "headers": {"content-type": "text/xml"}}),
            r#"{"id":"é\n"}"#
        ),
        ("PUT".to_owned(), Some("text/xml".to_owned()), "<é\n>".to_owned())
    );
    assert_eq!(sent(json!({}), "{}"), ("GET".to_owned(), None, String::new()));
}

// TK-2
#[test]
fn what_cannot_be_used_is_named() {
    let wrong = |implementation: Value| template(implementation).err().unwrap();
    for (url, says) in [
        ("https://{city}.example/", "no `{name}` may stand in scheme, host or port"),
        ("https://api.example:{id}/", "no `{name}` may stand in scheme, host or port"),
        ("{city}://x/", "no `{name}` may stand in scheme, host or port"),
        ("https://{unknown}/", "no `{name}` may stand in scheme, host or port"),
        ("https://u:{id}@h/", "no `{name}` may stand in scheme, host or port"),
        ("/relative/{id}", "it must be a whole URL"),
        ("ftp://h/", "it must begin with `http://` or `https://`"),
        ("http://", "empty host"),
        ("http://a b/", "invalid"),
        ("http://h\\{id}", "must not contain"),
        ("http://h/\n", "must not contain"),
        ("http://h/{idd}", "`{idd}` stands for no parameter; did you mean `{id}`?"),
        ("http://h/?a={idd}", "`{idd}` stands for no parameter"),
    ] {
        let said = wrong(json!({"url": url}));
        assert!(said.starts_with("url: ") && said.contains(says), "{url}: {said}");
    }
    let with = |key: &str, value: Value| {
        let mut implementation = json!({"url": "http://h/"});
        implementation[key] = value;
        wrong(implementation)
    };
    assert_eq!(with("method", json!("GE T")), "method: `GE T` is not an HTTP method");
    assert_eq!(with("method", json!("connect")), "method: `connect` is not an HTTP method");
    assert!(with("query", json!({"q": {"a": 1}})).starts_with("query.q: expected a text"));
    assert!(
        with("query", json!({"q": "{x}"})).starts_with("query.q: `{x}` stands for no parameter")
    );
    assert!(with("form", json!({"q": null})).starts_with("form.q: expected a text"));
    assert!(with("json", json!({"a": ["{x}"]})).starts_with("json.a[0]: `{x}` stands for no"));
    assert!(with("text", json!("{x}")).starts_with("text: `{x}` stands for no parameter"));
    assert_eq!(with("headers", json!({"a b": ""})), "headers.a b: this is not a valid header name");
    assert!(
        with("headers", json!({"x": "a\nb"})).starts_with("headers.x: a header has no line breaks")
    );
    assert!(with("headers", json!({"x": "{x}"})).starts_with("headers.x: `{x}` stands for no"));
    assert!(
        with("headers", json!({"Content-Length": "1"})).contains("set as the request needs it")
    );
    assert!(with("headers", json!({"Host": "{city}"})).contains("callers do not choose the host"));
    let two = wrong(json!({"url": "http://h/", "json": 1, "text": "x"}));
    assert_eq!(two, "json: a request has one body: `json`, `form` or `text`");
}

proptest! {
    // TK-2: whatever a value holds, the request goes to the same place, and the value arrives as it is.
    #[test]
    fn a_value_never_changes_where_a_request_goes(
        value in prop_oneof![any::<String>(), "[./%2eE\\\\?#&=@:;a]{0,10}"]
    ) {
        let text = "https://user@api.example:8443/v1/{id}/end?q={id}&z=1";
        let Ok(filled) = url(text, json!({"id": value})) else { return Ok(()) };
        let filled = reqwest::Url::parse(&filled).unwrap();
        prop_assert_eq!(filled.origin().ascii_serialization(), "https://api.example:8443");
        prop_assert_eq!(filled.username(), "user");
        let segments: Vec<_> = filled.path_segments().unwrap().collect();
        prop_assert_eq!((segments[0], segments[2], segments.len()), ("v1", "end", 3));
        let arrived = percent_encoding::percent_decode_str(segments[1]).decode_utf8().unwrap();
        prop_assert_eq!(arrived, value.as_str());
        let query: Vec<_> = filled.query_pairs().collect();
        prop_assert_eq!(query, [("q".into(), value.into()), ("z".into(), "1".into())]);
        prop_assert_eq!(filled.fragment(), None);
    }
}
