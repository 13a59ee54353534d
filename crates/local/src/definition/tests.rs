use switchboard_toolcall::{CallContext, ErrorKind, ToolError, ToolOutput};

use super::*;
use crate::{builtins, handler_fn};

#[derive(Deserialize)]
struct File {
    tools: Vec<ToolDefinition>,
}

fn from_toml(text: &str) -> ToolDefinition {
    let file: File = toml::from_str(text).unwrap();
    file.tools.into_iter().next().unwrap()
}

fn from_json(text: &str) -> ToolDefinition {
    serde_json::from_str(text).unwrap()
}

/// A definition with this implementation, in TOML's inline form.
fn implemented(implementation: &str) -> Result<ToolDefinition, toml::de::Error> {
    toml::from_str(&format!(
        "name = \"weather\"\ndescription = \"d\"\nimplementation = {implementation}"
    ))
}

async fn call(definition: ToolDefinition, handlers: &Handlers) -> Result<ToolOutput, ToolError> {
    let tool = definition.into_tool(handlers).unwrap();
    tool.call(json!({"city": "Rome"}), &CallContext::default()).await
}

#[tokio::test]
async fn the_example_of_the_contract() {
    // LT-1, SPEC §13
    let definition = from_toml(
        r#"
        [[tools]]
        name = "weather"
        description = "Weather of a city"
        parameters = { type = "object", properties = { city = { type = "string" } }, required = ["city"] }
        implementation = { type = "mock", mock_response = { temp = 21 } }
        annotations = { read_only = true, idempotent = true, destructive = false }
        timeout = "5s"
        max_output = "2k"
        max_concurrent = 3
        cache = "1m"
        "#,
    );
    assert_eq!(definition.cache, Some(HumanDuration(std::time::Duration::from_secs(60))));
    let tool = definition.clone().into_tool(&Handlers::new()).unwrap();
    let spec = tool.spec();
    assert_eq!(spec.parameters["required"], json!(["city"]));
    assert_eq!(spec.annotations, Annotations::READ_ONLY);
    assert_eq!(spec.settings.timeout, Some(std::time::Duration::from_secs(5)));
    assert_eq!(spec.settings.max_output, Some(2000));
    assert_eq!(spec.settings.max_concurrent, Some(3));
    let output = call(definition, &Handlers::new()).await.unwrap();
    assert_eq!(output.text(), r#"{"temp":21}"#);
}

#[tokio::test]
async fn mocks_answer_as_it_is_written() {
    // LT-1, RS-3
    for response in [
        r#"{"z":12345678901234567890123,"a":1.0,"e":1e+400,"n":null}"#,
        "12345678901234567890123",
        "1.0",
        "null",
        r#"["text",true]"#,
    ] {
        let definition = from_json(&format!(
            r#"{{"name":"m","description":"d","implementation":{{"type":"mock","mock_response":{response}}}}}"#
        ));
        let output = call(definition, &Handlers::new()).await.unwrap();
        assert_eq!(output.text(), response);
    }
}

#[tokio::test]
async fn toml_values_become_the_json_people_mean() {
    // LT-1
    let definition = implemented(
        "{ type = 'mock', mock_response = { a = 1.0, b = [2026-11-15, { c = 10:04:26 }], d = 9007199254740993 } }",
    );
    let output = call(definition.unwrap(), &Handlers::new()).await.unwrap();
    let expected = r#"{"a":1.0,"b":["2026-11-15",{"c":"10:04:26"}],"d":9007199254740993}"#;
    assert_eq!(output.text(), expected);
}

#[test]
fn contradictions_are_named() {
    // LT-1, LT-2
    let check = |implementation: &str| {
        let definition = implemented(implementation).unwrap();
        let error = definition.check().unwrap_err();
        assert_eq!(definition.into_tool(&Handlers::new()).err(), Some(error.clone()));
        error.to_string()
    };
    assert_eq!(check("{ type = 'mock' }"), "tool `weather`: a mock needs `mock_response`");
    assert_eq!(
        check("{ type = 'mock', handler = 'echo', mock_response = 1 }"),
        "tool `weather`: `handler` is only for builtin and internal"
    );
    assert_eq!(check("{ type = 'builtin' }"), "tool `weather`: type `builtin` needs `handler`");
    assert_eq!(check("{ type = 'internal' }"), "tool `weather`: type `internal` needs `handler`");
    assert_eq!(
        check("{ type = 'builtin', handler = 'echo', mock_response = 1 }"),
        "tool `weather`: `mock_response` is only for mock"
    );
    assert_eq!(
        check("{ type = 'builtin', handler = 'echo', mock_responses = [{ response = 1 }] }"),
        "tool `weather`: `mock_responses` is only for mock"
    );
    let needs = "tool `weather`: `mock_responses[1]` needs `response` or `error`, one of them";
    for second in ["{}", "{ response = 1, error = { text = 'no' } }"] {
        let both = format!("{{ type = 'mock', mock_responses = [{{ response = 1 }}, {second}] }}");
        assert_eq!(check(&both), needs);
    }
}

#[tokio::test]
async fn mocks_may_answer_by_arguments() {
    // LT-1, RC-2
    let mocked = |fallback: &str| {
        let text = format!(
            "{{ type = 'mock', mock_responses = [{{ args = {{ city = 'Rome' }}, response = 21 }}, \
             {{ args = {{ city = 'Rome' }}, error = {{ kind = 'timeout', text = 'late', hint = 'wait' }} }}]{fallback} }}"
        );
        implemented(&text).unwrap().into_tool(&Handlers::new()).unwrap()
    };
    let cx = CallContext::default();
    let tool = mocked(", mock_response = 'elsewhere'");
    assert_eq!(tool.call(json!({"city": "Rome"}), &cx).await.unwrap().text(), "21");
    for _ in 0..2 {
        let error = tool.call(json!({"city": "Rome"}), &cx).await.unwrap_err();
        assert_eq!((error.kind, error.for_model.as_str()), (ErrorKind::Timeout, "late"));
        assert_eq!(error.hint.as_deref(), Some("wait"));
    }
    assert_eq!(tool.call(json!({}), &cx).await.unwrap().text(), "elsewhere");
    let error = mocked("").call(json!({}), &cx).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert_eq!(error.for_model, "no recorded call of 'weather' with these arguments");
}

// TK-4
#[test]
fn what_is_fixed_is_not_shown() {
    let definition = |parameters: &str| -> ToolDefinition {
        let text = format!(
            "name = 't'\ndescription = 'd'\nimplementation = {{ type = 'builtin', handler = 'echo' }}\n\
             arguments.zone = {{ fixed = 'Asia/Tokyo' }}\n{parameters}"
        );
        toml::from_str(&text).unwrap()
    };
    let declared = "parameters = { type = 'object', properties = { zone = { type = 'string' }, format = {} }, \
                    required = ['zone'], anyOf = [{ required = ['zone', 'format'] }] }";
    let spec = definition(declared).spec();
    let shown = json!({"type": "object", "properties": {"format": {}}, "anyOf": [{"required": ["format"]}]});
    assert_eq!(spec.parameters, shown);
    let fixed = &spec.settings.fixed["zone"];
    assert_eq!((&fixed.value, &fixed.schema), (&json!("Asia/Tokyo"), &json!({"type": "string"})));
    // Without parameters everything may be fixed; beside others only what they declare.
    assert_eq!(definition("").spec().settings.fixed["zone"].schema, json!(true));
    definition("").check().unwrap();
    let wrong =
        definition("parameters = { properties = { zones = {} } }").check().unwrap_err().to_string();
    assert!(
        wrong.starts_with(
            "tool `t`: `arguments.zone`: it is not a parameter; did you mean `zones`?"
        ),
        "{wrong}"
    );
    let unknown =
        toml::from_str::<ToolDefinition>("name = 't'\narguments.x = { fix = 1 }").unwrap_err();
    assert!(unknown.to_string().contains("unknown field `fix`"), "{unknown}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let check = |text: &str| serde_json::from_str::<ToolDefinition>(text).unwrap_err().to_string();
    let with = |rest: &str| format!(r#"{{"name":"m","description":"d",{rest}}}"#);
    let mock = r#""implementation":{"type":"mock","mock_response":1}"#;
    let cases = [
        (
            with(r#""implementation":{"type":"magic"}"#),
            "unknown variant `magic`, expected one of `mock`, `builtin`, `internal`",
        ),
        (with(r#""implementation":{"handler":"echo"}"#), "missing field `type`"),
        (
            with(r#""implementation":{"type":"mock","mock_respons":1}"#),
            "unknown field `mock_respons`",
        ),
        (with(&format!(r#"{mock},"colour":"red""#)), "unknown field `colour`"),
        (with(&format!(r#"{mock},"timeout":"soon""#)), "`soon` is not a duration"),
        (with(&format!(r#"{mock},"max_concurrent":0"#)), "expected a nonzero"),
        (with(&format!(r#"{mock},"annotations":{{"readonly":true}}"#)), "unknown field `readonly`"),
        (r#"{"description":"d"}"#.to_owned(), "missing field `name`"),
        (with(r#""timeout":"1s""#), "missing field `implementation`"),
    ];
    for (text, expected) in cases {
        let error = check(&text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[tokio::test]
async fn handlers_are_called_with_what_was_sent() {
    // LT-2
    let handlers = Handlers::new();
    builtins::register(&builtins::all(&Default::default()), &handlers);
    handlers
        .register_internal("status", handler_fn(|args, _cx| async move { json!([args, "up"]) }));
    let definition = implemented("{ type = 'builtin', handler = 'echo' }").unwrap();
    assert_eq!(definition.missing_handler(&handlers), None);
    let output = call(definition, &handlers).await.unwrap();
    assert_eq!(output.text(), r#"{"echo":{"city":"Rome"}}"#);
    let definition = implemented("{ type = 'internal', handler = 'status' }").unwrap();
    let output = call(definition, &handlers).await.unwrap();
    assert_eq!(output.text(), r#"[{"city":"Rome"},"up"]"#);
}

#[tokio::test]
async fn a_missing_handler_is_the_calls_error() {
    // LT-2, SPEC §12
    let handlers = Handlers::new();
    let check = async |implementation, expected: &str| {
        let definition = implemented(implementation).unwrap();
        assert!(definition.missing_handler(&handlers).is_some());
        let error = call(definition, &handlers).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert_eq!(error.for_model, expected);
    };
    let builtin = "{ type = 'builtin', handler = 'x' }";
    check(builtin, "Builtin handler 'x' not found").await;
    let internal = "{ type = 'internal', handler = 'x' }";
    check(internal, "Internal handler 'x' not found").await;
    // Each kind has its own names.
    handlers.register_internal("x", handler_fn(|_, _| async { "late" }));
    check(builtin, "Builtin handler 'x' not found").await;
    assert_eq!(handlers.names(HandlerKind::Internal), ["x"]);
    assert_eq!(handlers.names(HandlerKind::Builtin), [""; 0]);
}

#[tokio::test]
async fn handlers_may_come_later() {
    // LT-2
    let handlers = Handlers::new();
    let definition = implemented("{ type = 'internal', handler = 'x' }").unwrap();
    let tool = definition.into_tool(&handlers).unwrap();
    handlers.register_internal("x", handler_fn(|_, _| async { "late" }));
    let output = tool.call(json!({}), &CallContext::default()).await.unwrap();
    assert_eq!(output.text(), "late");
}

#[tokio::test]
async fn a_reused_builtin_speaks_under_the_tools_name() {
    // SPEC §12, network
    let handlers = Handlers::new();
    builtins::register(&builtins::all(&Default::default()), &handlers);
    let definition = implemented("{ type = 'builtin', handler = 'search_web' }").unwrap();
    let tool = definition.into_tool(&handlers).unwrap();
    let args = json!({"query": "rust"});
    let error = tool.call(args, &CallContext::default()).await.unwrap_err();
    assert!(error.for_model.starts_with("Tool 'weather' is unavailable: "), "{error}");
}
