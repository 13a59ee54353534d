use serde_json::json;

use super::*;

fn request(text: &str) -> Result<(String, Value, Option<Value>), String> {
    match parse_of_client(text.as_bytes()) {
        Ok(IncomingMessage::Request { method, params, .. }) => {
            let RequestParams { meta, fields } = params.unwrap_or_default();
            Ok((method, Value::Object(fields), meta.map(Value::Object)))
        }
        Ok(other) => Err(format!("{other:?}")),
        Err(UnreadableMessage::Params { id, error }) => Err(format!("{id}: {error}")),
        Err(UnreadableMessage::NotJsonRpc(error)) => Err(error.to_string()),
    }
}

#[test]
fn parameters_are_read_wherever_they_stand() {
    let fields = json!({"name": "a", "arguments": {"z": 1.0, "a": null}});
    let expected = || Ok(("tools/call".to_owned(), fields.clone(), Some(json!({"x": 1}))));
    let params = r#"{"name":"a","_meta":{"x":1},"arguments":{"z":1.0,"a":null}}"#;
    let usual = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":PARAMS}"#;
    let before = r#"{"params":PARAMS,"other":[],"method":"tools/call","id":1,"jsonrpc":"2.0"}"#;
    assert_eq!(request(&usual.replace("PARAMS", params)), expected());
    assert_eq!(request(&before.replace("PARAMS", params)), expected());
    let none = Ok(("tools/call".to_owned(), json!({}), None));
    assert_eq!(request(&usual.replace("PARAMS", "null")), none);
    assert_eq!(request(&usual.replace("PARAMS", r#"{"_meta":null}"#)), none);
    let digits = request(&usual.replace("PARAMS", r#"{"n":12345678901234567890.10}"#));
    assert_eq!(digits.unwrap().1.to_string(), r#"{"n":12345678901234567890.10}"#);
}

#[test]
fn a_request_with_unusable_parameters_keeps_its_id() {
    let cases = [
        ("[]", "\"a\": `params` must be an object"),
        ("7", "\"a\": `params` must be an object"),
        (r#"{"_meta":7}"#, "\"a\": the parameters are not usable: invalid type"),
        (r#"{"n":1,"n":2}"#, "\"a\": the parameters are not usable: a field that comes twice"),
        (r#"{"n":"\ud800"}"#, "\"a\": the parameters are not usable: "),
        ("{", "not JSON-RPC: "),
    ];
    for (params, expected) in cases {
        let text = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"m","params":{params}}}"#);
        let error = request(&text).unwrap_err();
        assert!(error.starts_with(expected), "{params}: {error}");
    }
    for twice in [r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "7", "[]"] {
        assert!(request(twice).unwrap_err().starts_with("not JSON-RPC"), "{twice}");
    }
}

#[test]
fn parameters_of_notifications_stay_as_they_came() {
    let text =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\/b"}}"#;
    let Ok(IncomingMessage::Notification { params, .. }) = parse_of_client(text.as_bytes()) else {
        panic!("no notification");
    };
    assert_eq!(params.unwrap().get(), r#"{"requestId":"a\/b"}"#);
    let odd = parse_of_client(br#"{"jsonrpc":"2.0","method":"odd","params":[1]}"#);
    assert!(matches!(odd, Ok(IncomingMessage::Notification { .. })));
}
