use super::{missing::LookupError, *};

fn toml_of(text: &str) -> Result<LoadedConfig, String> {
    check(toml::parse(text))
}

fn json_of(text: &str) -> Result<LoadedConfig, String> {
    check(json::parse(text))
}

fn check(root: Result<ConfigNode, ConfigProblem>) -> Result<LoadedConfig, String> {
    let variable = |name: &str| match name {
        "HOST" => Ok("example.org".to_owned()),
        _ => Err(LookupError::NotPresent),
    };
    let file = Path::new("switchboard");
    root.and_then(|root| read(ParsedConfig::Ours(root), file, &variable)).map_err(|e| e.to_string())
}

fn names(loaded: Result<LoadedConfig, String>) -> Vec<String> {
    loaded.unwrap().settings.tools.into_iter().map(|tool| tool.name).collect()
}

const MOCK: &str = r#""description":"d","implementation":{"type":"mock","mock_response":1}"#;

#[test]
fn both_formats_say_the_same() {
    let toml = toml_of("[executor]\ntimeout = \"5m\"\nmax_output = \"64KiB\"\nmax_queue = 0x10\n");
    let json = json_of(r#"{"executor":{"timeout":"5m","max_output":"64KiB","max_queue":16}}"#);
    for loaded in [toml, json] {
        let executor = loaded.unwrap().settings.executor;
        assert_eq!(executor.timeout.0.as_secs(), 300);
        assert_eq!(executor.max_output.0, 65_536);
        assert_eq!(executor.max_queue, 16);
    }
}

#[test]
fn unknown_keys_are_named_with_line_and_nearest() {
    let says = ":2: unknown key `timeot` in [executor]; did you mean `timeout`?";
    assert_eq!(toml_of("[executor]\ntimeot = 1").unwrap_err(), says);
    assert_eq!(json_of("{\"executor\":{\n\"timeot\":1}}").unwrap_err(), says);
    let says = ":1: unknown key `executer` at the top level; did you mean `executor`?";
    assert_eq!(toml_of("[executer]").unwrap_err(), says);
    // `serve` is as near as `servers`; Codex and JSON configs have names of their own.
    for key in ["server", "mcp_servers", "mcpServers", "mcp-server"] {
        let says = format!(":1: unknown key `{key}` at the top level; did you mean `servers`?");
        assert_eq!(toml_of(&format!("[{key}.time]")).unwrap_err(), says);
    }
    let far = toml_of("\n[policy]\nbananas = 1").unwrap_err();
    let says =
        ":3: unknown key `bananas` in [policy]; known are `allow`, `deny`, `read_only`, `ask`,";
    assert!(far.starts_with(says), "{far}");
    let tool = format!("[\n {{\"name\":\"w\",\n \"anotations\":{{}}, {MOCK}}}]");
    let says = ":3: unknown key `anotations` in tool `w`; did you mean `annotations`?";
    assert_eq!(json_of(&tool).unwrap_err(), says);
    let inner = "[[tools]]\nname = \"w\"\ndescription = \"d\"\nimplementation.type = \"mock\"\n\
                 implementation.mock_respons = 1";
    let says = ":5: unknown key `mock_respons` in `implementation` of tool `w`; did you mean `mock_response`?";
    assert_eq!(toml_of(inner).unwrap_err(), says);
}

#[test]
fn wrong_types_say_what_is_expected() {
    for (text, says) in [
        ("executor.timeout = 30", ":1: `executor.timeout`: expected a duration in quotes"),
        ("executor.timeout = \"soon\"", ":1: `executor.timeout`: `soon` is not a duration"),
        ("executor.strict = 1", ":1: `executor.strict`: expected true or false, got the number 1"),
        ("executor = 5", ":1: `executor`: expected a table, got the number 5"),
        ("\n[policy]\ndeny = \"x\"", ":3: `policy.deny`: expected a list, got a string"),
        (
            "[policy]\ndeny = [\n\"x\",\n5]",
            ":4: `policy.deny[1]`: expected a string, got the number 5",
        ),
        (
            "[executor]\nmax_queue = 1.5",
            ":2: `executor.max_queue`: expected a whole number, 0 or more, got the number 1.5",
        ),
        ("executor.max_output = -1", ":1: `executor.max_output`: `-1` is not a size"),
        ("executor.max_output = inf", ":1: `inf` is not a number"),
        ("tools = 5", ":1: `tools`: expected a list, got the number 5"),
        ("[tools]\nregistry = 5", ":2: `tools.registry`: expected a list of tool definitions"),
        (
            "[tools.registri]\nx = 5",
            ":1: unknown key `registri` in [tools]; did you mean `registry`?",
        ),
        ("[[tools]]\nname = \"a\"", ":1: tool `a`: `description` is missing"),
        ("[[tools]]\ndescription = \"a\"", ":1: tool number 1: `name` is missing"),
    ] {
        let error = toml_of(text).unwrap_err();
        assert!(error.starts_with(says), "{text}\n{error}");
    }
    assert_eq!(json_of("5").unwrap_err(), ":1: expected a table, got the number 5");
    let twice = json_of("{\"policy\":{},\n\"policy\":{}}").unwrap_err();
    assert_eq!(twice, ":1: `policy` is given twice");
}

#[test]
fn wrong_syntax_shows_its_place() {
    let error = toml_of("[executor]\ntimeout = \"30s").unwrap_err();
    assert!(error.starts_with(":2:") && error.contains("  2 | timeout = \"30s\n"), "{error}");
    let error = json_of("{\n  \"a\" 1\n}").unwrap_err();
    assert_eq!(error, ":2:7: expected `:`\n  2 |   \"a\" 1\n    |       ^");
    let deep = "[".repeat(100_000);
    assert!(json_of(&deep).is_err() && toml_of(&format!("a = {deep}")).is_err());
}

#[test]
fn definitions_come_in_many_shapes() {
    let one = |name: &str| format!("{{\"name\":\"{name}\",{MOCK}}}");
    let (a, b) = (one("a"), one("b"));
    assert_eq!(names(json_of(&a)), ["a"]);
    assert_eq!(names(json_of(&format!("[{b},{a}]"))), ["b", "a"]);
    assert_eq!(names(json_of(&format!("{{\"tools\":[{b},{a}]}}"))), ["b", "a"]);
    assert_eq!(names(json_of(&format!("{{\"tools\":{{\"registry\":[{b},{a}]}}}}"))), ["b", "a"]);
    let keyed = format!("{{\"tools\":{{\"registry\":{{\"z\":{{{MOCK}}},\"a\":{a}}}}}}}");
    assert_eq!(names(json_of(&keyed)), ["z", "a"]); // TL-5: in the order of the file
    let keyed = "[tools.registry.z]\ndescription = \"d\"\nimplementation = { type = \"mock\", mock_response = 1 }\n\
                 [tools.registry.a]\ndescription = \"d\"\nimplementation = { type = \"mock\", mock_response = 1 }";
    assert_eq!(names(toml_of(keyed)), ["z", "a"]);
    let wrong = format!("{{\"tools\":{{\"registry\":{{\"z\":{a}}}}}}}");
    assert!(
        json_of(&wrong).unwrap_err().contains("tool `z` is registered here, but names itself `a`")
    );
    assert_eq!(names(json_of("[]")), [""; 0]);
}

#[test]
fn numbers_keep_their_digits() {
    // RS-3
    let numbers = r#"{"big":12345678901234567890123,"one":1.0,"tiny":1.5e-400,"list":[0.10]}"#;
    let tool = format!(
        r#"{{"name":"n","description":"d","implementation":{{"type":"mock","mock_response":{numbers}}}}}"#
    );
    let kept = |loaded: LoadedConfig| loaded.settings.tools[0].implementation.mock_response.clone();
    assert_eq!(kept(json_of(&tool).unwrap()).unwrap().to_string(), numbers);
    let toml = "[[tools]]\nname = \"n\"\ndescription = \"d\"\n[tools.implementation]\ntype = \"mock\"\n\
                [tools.implementation.mock_response]\nbig = 12345678901234567890123\none = 1.0\n\
                tiny = 1.5e-400\nlist = [0.10]";
    assert_eq!(kept(toml_of(toml).unwrap()).unwrap().to_string(), numbers);
}

#[test]
fn variables_are_filled_in_but_not_in_what_models_see() {
    let text = "policy.deny = [\"${HOST}\"]\n[[tools]]\nname = \"n\"\ndescription = \"at ${HOST}\"\n\
                parameters = { description = \"${HOST}\" }\n\
                implementation = { type = \"mock\", mock_response = \"${NOBODY}\" }";
    let settings = toml_of(text).unwrap().settings;
    assert_eq!(settings.policy.deny, ["example.org"]);
    let tool = &settings.tools[0];
    assert_eq!(tool.description, "at example.org");
    assert_eq!(tool.parameters["description"], "${HOST}");
    assert_eq!(tool.implementation.mock_response, Some("${NOBODY}".into()));
    let error = toml_of("[policy]\nallow = [\"a\",\n\"${NOBODY}\"]").unwrap_err();
    assert_eq!(error, ":3: `policy.allow[1]`: the environment variable `NOBODY` is not set");
}

#[test]
fn json_is_told_from_toml() {
    for json in ["{}", " \n{\"a\":1}", "[{}]", "[ ]", "[\n {"] {
        assert!(json::looks_like_it(json), "{json}");
    }
    for toml in ["", "[executor]", "[[tools]]", "a = 1", "# {"] {
        assert!(!json::looks_like_it(toml), "{toml}");
    }
}
