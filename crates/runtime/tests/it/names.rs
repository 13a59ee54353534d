//! Which tool a name finds, and in which order tools are shown.

use serde_json::json;
use switchboard_runtime::{ServerSettings, ToolExecutor, toolcall::ErrorKind};
use switchboard_testkit::{Fake, Logs};
use tracing::Level;

/// Two locals and three servers: `a` and `b` with prefixes, `bare` without.
fn house() -> ToolExecutor {
    let executor = ToolExecutor::default();
    let tools = executor.tools();
    for name in ["bare", "a", "b"] {
        let prefix = (name == "bare").then(String::new);
        tools.add_server(name, ServerSettings { prefix, ..Default::default() }).unwrap();
    }
    tools.add(Fake::answers("zebra", json!("local zebra"))).unwrap();
    tools.add(Fake::answers("apple", json!("local apple"))).unwrap();
    // Servers answer in any order; the config's order stays.
    for (server, names) in
        [("b", ["both", "only_b"]), ("a", ["both", "apple"]), ("bare", ["apple", "open"])]
    {
        let tool = |name: &&str| {
            Fake::answers(name, json!(format!("{server}'s {name}"))).of_server(server).shared()
        };
        let aside = tools.set_server_tools(server, names.iter().map(tool).collect());
        assert!(aside.is_empty());
    }
    executor
}

// TL-4
#[tokio::test]
async fn full_and_bare_names_find_the_right_tool() {
    let house = house();
    let cases = [
        ("zebra", "local zebra"),
        ("apple", "local apple"),
        ("a__apple", "a's apple"),
        ("bare__apple", "bare's apple"),
        ("open", "bare's open"),
        ("bare__open", "bare's open"),
        ("only_b", "b's only_b"),
        ("a__both", "a's both"),
        ("b__both", "b's both"),
        ("both", "b's both"),
    ];
    for (name, expected) in cases {
        assert_eq!(house.call(name, json!({})).await.text(), expected, "{name}");
    }
}

// TL-4
#[tokio::test]
async fn an_ambiguous_bare_name_is_warned_about() {
    let house = house();
    let logs = Logs::collect(Level::WARN);
    house.call("both", json!({})).await;
    house.call("a__both", json!({})).await;
    let lines = logs.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("several servers have 'both'; it is taken as 'b__both'"));
}

// TL-5, TL-2
#[test]
fn the_order_is_the_configs() {
    let names: Vec<String> =
        house().tools().all().iter().map(|tool| tool.name().to_string()).collect();
    let expected =
        ["zebra", "apple", "bare__apple", "open", "a__both", "a__apple", "b__both", "b__only_b"];
    assert_eq!(names, expected);
}

// TL-4
#[tokio::test]
async fn an_unknown_prefix_is_its_own_error() {
    let house = house();
    let result = house.call("nope__both", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::UnknownServer));
    assert_eq!(result.text(), "Unknown MCP server 'nope' in tool name 'nope__both'");
    for name in ["a__nothing", "__", "__both", "a__"] {
        let result = house.call(name, json!({})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::NotFound), "{name}");
    }
}

// TL-2
#[tokio::test]
async fn adding_an_existing_name_warns_and_replaces() {
    let house = house();
    let logs = Logs::collect(Level::WARN);
    house.tools().add(Fake::answers("zebra", json!("new zebra"))).unwrap();
    assert_eq!(house.call("zebra", json!({})).await.text(), "new zebra");
    assert!(logs.lines()[0].contains("tool 'zebra' was there already and is replaced"));
    assert_eq!(house.tools().all()[0].name().as_ref(), "zebra");
}

// TL-2
#[tokio::test]
async fn a_local_tool_takes_its_bare_name_back_from_a_server() {
    let house = house();
    let logs = Logs::collect(Level::WARN);
    house.tools().add(Fake::answers("open", json!("local open"))).unwrap();
    assert_eq!(house.call("open", json!({})).await.text(), "local open");
    assert_eq!(house.call("bare__open", json!({})).await.text(), "bare's open");
    assert!(house.tools().all().iter().any(|tool| tool.name().as_ref() == "bare__open"));
    assert!(
        logs.lines().iter().any(|line| line.contains("does not replace the local tool 'open'"))
    );
}

// TL-2
#[test]
fn bad_tools_are_refused_with_the_reason() {
    let tools = house().tools().clone();
    let refused = |fake: Fake| tools.add(fake).unwrap_err().to_string();
    assert_eq!(refused(Fake::echoes("")), "tool name \"\" is not usable: it is empty");
    let spaced = refused(Fake::echoes("a b"));
    assert!(spaced.ends_with("it has white space or control characters in it"), "{spaced}");
    let silent = Fake::echoes("silent").with(|spec| spec.description.clear());
    assert_eq!(refused(silent), "tool `silent` has no description");
    let cases = [
        (json!("text"), "the schema must be an object of type `object`, not string"),
        (
            json!({"type": "string"}),
            "the schema must be an object of type `object`, not \"string\"",
        ),
        (
            json!({"type": "object", "properties": 5}),
            "5 is not of type \"object\" (at /properties)",
        ),
        (json!({"$schema": "https://x.example/unknown"}), "unknown"),
    ];
    for (schema, reason) in cases {
        let error = refused(Fake::echoes("bad").parameters(schema));
        assert!(error.starts_with("tool `bad` has an unusable schema: "), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

// TL-2
#[test]
fn a_servers_bad_tool_is_set_aside_and_the_others_stay() {
    let house = house();
    let logs = Logs::collect(Level::WARN);
    let bad = Fake::echoes("bad").parameters(json!({"type": 7})).of_server("a").shared();
    let good = Fake::echoes("good").with(|spec| spec.description.clear()).of_server("a").shared();
    let aside = house.tools().set_server_tools("a", vec![bad, good]);
    assert_eq!(aside.len(), 1);
    assert!(house.tools().lookup("a__good").is_ok(), "a server's tool needs no description");
    assert!(house.tools().lookup("a__bad").is_err());
    assert!(house.tools().lookup("a__both").is_err(), "the old tools are gone");
    assert!(logs.lines()[0].contains("a tool of server 'a' is set aside: tool `a__bad`"));
}

// TL-4
#[test]
fn a_servers_name_cannot_contain_the_separator() {
    let error = house().tools().add_server("a__b", ServerSettings::default()).unwrap_err();
    assert_eq!(error.to_string(), "server name `a__b` must not be empty or contain `__`");
}

// TL-1
#[test]
fn ten_thousand_tools_are_one_collection() {
    let executor = ToolExecutor::default();
    for index in 0..10_000 {
        executor.tools().add(Fake::echoes(&format!("tool_{index}"))).unwrap();
    }
    assert_eq!(executor.tools().all().len(), 10_000);
    assert_eq!(executor.tools().lookup("tool_9999").unwrap().name().as_ref(), "tool_9999");
}

// TL-4
#[tokio::test]
async fn another_prefix_and_separator_can_be_chosen() {
    let config = switchboard_runtime::Config { separator: ".".into(), ..Default::default() };
    let executor = ToolExecutor::builder().config(config).build();
    let settings = ServerSettings { prefix: Some("home".into()), ..Default::default() };
    executor.tools().add_server("zwave", settings).unwrap();
    let tool = Fake::answers("on", json!("lit")).of_server("zwave").shared();
    executor.tools().set_server_tools("zwave", vec![tool]);
    assert_eq!(executor.tools().all()[0].name().as_ref(), "home.on");
    for name in ["home.on", "zwave.on", "on"] {
        assert_eq!(executor.call(name, json!({})).await.text(), "lit");
    }
    let result = executor.call("x.on", json!({})).await;
    assert_eq!(result.text(), "Unknown MCP server 'x' in tool name 'x.on'");
}

/// A server of this name and prefix with the method `resources/read`, which says whose it is.
fn with_method(executor: &ToolExecutor, server: &str, prefix: Option<&str>) {
    let method = Fake::answers("resources/read", json!(format!("method of {server}")));
    let settings = ServerSettings {
        prefix: prefix.map(Into::into),
        methods: vec![method.of_server(server).shared()],
        ..Default::default()
    };
    executor.tools().add_server(server, settings).unwrap();
}

// GW-6: methods of servers are called by their full names, and shown nowhere.
#[tokio::test]
async fn methods_are_found_by_their_full_names_alone() {
    let executor = ToolExecutor::default();
    with_method(&executor, "files", None);
    with_method(&executor, "home", Some("house"));
    with_method(&executor, "open", Some(""));
    for (name, expected) in [
        ("files__resources/read", "method of files"),
        ("home__resources/read", "method of home"),
        ("house__resources/read", "method of home"),
        ("open__resources/read", "method of open"),
    ] {
        assert_eq!(executor.call(name, json!({})).await.text(), expected, "{name}");
        assert!(executor.tools().get(name).is_some());
    }
    assert!(executor.tools().all().is_empty());
    assert_eq!(executor.tools().servers().iter().map(|server| server.tools).sum::<usize>(), 0);
    let bare = executor.call("resources/read", json!({})).await;
    assert_eq!(bare.error_kind(), Some(ErrorKind::NotFound));
    let misspelt = executor.call("files__resources/reed", json!({})).await;
    assert_eq!(misspelt.outcome.unwrap_err().hint, None);
}

// GW-6, TL-4: no server gets the calls that are meant for a method, its own or another's.
#[tokio::test]
async fn no_tool_of_a_server_takes_the_place_of_a_method() {
    let executor = ToolExecutor::default();
    with_method(&executor, "files", None);
    with_method(&executor, "evil", Some(""));
    let tools = executor.tools();
    let lists = |server: &str, names: [&str; 2]| {
        let tool = |name: &str| Fake::answers(name, json!("caught")).of_server(server).shared();
        tools.set_server_tools(server, names.map(tool).into())
    };
    let aside = lists("files", ["resources/read", "list"]);
    let reason =
        "tool name \"files__resources/read\" is not usable: it is the name of an MCP method";
    assert_eq!(aside.iter().map(ToString::to_string).collect::<Vec<_>>(), [reason]);
    assert!(lists("evil", ["files__resources/read", "files__other"]).is_empty());
    for server in ["files", "evil"] {
        let name = format!("{server}__resources/read");
        let expected = format!("method of {server}");
        assert_eq!(executor.call(&name, json!({})).await.text(), expected);
    }
    // Methods of servers that stay are there after a changed config, too.
    let settings = ServerSettings { prefix: Some("f".into()), ..Default::default() };
    tools.replace(Vec::new(), vec![("files".into(), settings)]).unwrap();
    let gone = executor.call("evil__resources/read", json!({})).await;
    assert_eq!(gone.error_kind(), Some(ErrorKind::UnknownServer));
}
