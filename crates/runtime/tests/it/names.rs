//! Which tool a name finds, and in which order tools are shown.

use serde_json::json;
use switchboard_runtime::{
    ServerSettings, ToolExecutor,
    toolcall::{BoxFuture, ErrorKind, ToolError},
};
use switchboard_testkit::{Fake, Logs};
use tracing::Level;

/// Two locals and three servers: `a` and `b` with prefixes, `bare` without.
fn test_executor() -> ToolExecutor {
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
    let executor = test_executor();
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
        assert_eq!(executor.call(name, json!({})).await.text(), expected, "{name}");
    }
}

// TL-4
#[tokio::test]
async fn an_ambiguous_bare_name_is_warned_about() {
    let executor = test_executor();
    let logs = Logs::collect(Level::WARN);
    executor.call("both", json!({})).await;
    executor.call("a__both", json!({})).await;
    let lines = logs.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("several servers have 'both'; it is taken as 'b__both'"));
}

// TL-5, TL-2
#[test]
fn the_order_is_the_configs() {
    let names: Vec<String> =
        test_executor().tools().all().iter().map(|tool| tool.name().to_string()).collect();
    let expected =
        ["zebra", "apple", "bare__apple", "open", "a__both", "a__apple", "b__both", "b__only_b"];
    assert_eq!(names, expected);
}

// TL-4
#[tokio::test]
async fn an_unknown_prefix_is_its_own_error() {
    let executor = test_executor();
    let result = executor.call("nope__both", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::UnknownServer));
    assert_eq!(result.text(), "Unknown MCP server 'nope' in tool name 'nope__both'");
    for name in ["a__nothing", "__", "__both", "a__"] {
        let result = executor.call(name, json!({})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::NotFound), "{name}");
    }
}

// TL-2
#[tokio::test]
async fn adding_an_existing_name_warns_and_replaces() {
    let executor = test_executor();
    let logs = Logs::collect(Level::WARN);
    executor.tools().add(Fake::answers("zebra", json!("new zebra"))).unwrap();
    assert_eq!(executor.call("zebra", json!({})).await.text(), "new zebra");
    assert!(logs.lines()[0].contains("tool 'zebra' was there already and is replaced"));
    assert_eq!(executor.tools().all()[0].name().as_ref(), "zebra");
}

// TL-2
#[tokio::test]
async fn a_local_tool_takes_its_bare_name_back_from_a_server() {
    let executor = test_executor();
    let logs = Logs::collect(Level::WARN);
    executor.tools().add(Fake::answers("open", json!("local open"))).unwrap();
    assert_eq!(executor.call("open", json!({})).await.text(), "local open");
    assert_eq!(executor.call("bare__open", json!({})).await.text(), "bare's open");
    assert!(executor.tools().all().iter().any(|tool| tool.name().as_ref() == "bare__open"));
    assert!(
        logs.lines().iter().any(|line| line.contains("does not replace the local tool 'open'"))
    );
}

// TL-2
#[test]
fn bad_tools_are_refused_with_the_reason() {
    let tools = test_executor().tools().clone();
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
fn a_servers_bad_tool_is_skipped_and_the_others_stay() {
    let executor = test_executor();
    let logs = Logs::collect(Level::WARN);
    let bad = Fake::echoes("bad").parameters(json!({"type": 7})).of_server("a").shared();
    let good = Fake::echoes("good").with(|spec| spec.description.clear()).of_server("a").shared();
    let aside = executor.tools().set_server_tools("a", vec![bad, good]);
    assert_eq!(aside.len(), 1);
    assert!(executor.tools().lookup("a__good").is_ok(), "a server's tool needs no description");
    assert!(executor.tools().lookup("a__bad").is_err());
    assert!(executor.tools().lookup("a__both").is_err(), "the old tools are gone");
    assert!(logs.lines()[0].contains("a tool of server 'a' is skipped: tool `a__bad`"));
}

// TL-4
#[test]
fn a_servers_name_cannot_contain_the_separator() {
    let error = test_executor().tools().add_server("a__b", ServerSettings::default()).unwrap_err();
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
    tools.replace(Vec::new(), vec![("files".into(), settings)], &[]).unwrap();
    let gone = executor.call("evil__resources/read", json!({})).await;
    assert_eq!(gone.error_kind(), Some(ErrorKind::UnknownServer));
}

/// An executor with these servers, in this order, each with its prefix.
fn servers(servers: &[(&str, Option<&str>)]) -> ToolExecutor {
    let executor = ToolExecutor::default();
    for (name, prefix) in servers {
        let settings = ServerSettings { prefix: prefix.map(str::to_owned), ..Default::default() };
        executor.tools().add_server(name, settings).unwrap();
    }
    executor
}

/// Lets the server have these tools, each of which says whose it is.
fn list(executor: &ToolExecutor, server: &str, tools: &[&str]) {
    let tool = |name: &&str| {
        Fake::answers(name, json!(format!("{server}'s {name}"))).of_server(server).shared()
    };
    executor.tools().set_server_tools(server, tools.iter().map(tool).collect());
}

fn listed_names(executor: &ToolExecutor) -> Vec<String> {
    executor.tools().all().iter().map(|tool| tool.name().to_string()).collect()
}

// TL-4: whether the other server is not connected yet, there or stopped, and whichever comes first.
#[tokio::test]
async fn no_server_is_found_under_a_name_of_another() {
    for order in [["weather", "files"], ["files", "weather"]] {
        for prefix in [None, Some(""), Some("sky")] {
            let executor = servers(&order.map(|name| (name, prefix.filter(|_| name == "weather"))));
            let logs = Logs::collect(Level::WARN);
            list(&executor, "weather", &["files__read_file", "forecast"]);
            let taken = executor.call("files__read_file", json!({})).await;
            assert_eq!(taken.error_kind(), Some(ErrorKind::NotFound), "{}", taken.text());
            let full = executor.call("weather__files__read_file", json!({})).await;
            assert_eq!(full.text(), "weather's files__read_file");
            assert_eq!(executor.call("forecast", json!({})).await.text(), "weather's forecast");

            list(&executor, "files", &["read_file"]);
            assert_eq!(
                executor.call("files__read_file", json!({})).await.text(),
                "files's read_file"
            );
            list(&executor, "files", &[]);
            let taken = executor.call("files__read_file", json!({})).await;
            assert_eq!(taken.error_kind(), Some(ErrorKind::NotFound), "{}", taken.text());
            let warned: Vec<_> = logs
                .lines()
                .into_iter()
                .filter(|line| line.contains("is a name of server"))
                .collect();
            assert_eq!(warned.len(), 1, "{warned:?}");
            assert!(warned[0].contains("found as 'weather__files__read_file' only"), "{warned:?}");
        }
    }
}

// TL-4
#[tokio::test]
async fn a_server_that_comes_later_takes_its_names_back() {
    let executor = servers(&[("weather", Some(""))]);
    list(&executor, "weather", &["gpu__resize", "files__read_file"]);
    assert_eq!(listed_names(&executor), ["gpu__resize", "files__read_file"]);
    assert_eq!(executor.call("gpu__resize", json!({})).await.text(), "weather's gpu__resize");
    let version = executor.tools().version();
    executor.tools().add_server("gpu", ServerSettings::default()).unwrap();
    assert!(version.has_changed().unwrap(), "clients are told");
    assert_eq!(listed_names(&executor), ["weather__gpu__resize", "files__read_file"]);
    let result = executor.call("gpu__resize", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::NotFound));

    // A changed config brings one, too.
    let mut servers = vec![("weather".into(), ServerSettings::default())];
    servers.push(("files".into(), ServerSettings::default()));
    executor.tools().replace(Vec::new(), servers, &[]).unwrap();
    list(&executor, "weather", &["files__read_file"]);
    assert!(executor.tools().lookup("files__read_file").is_err());
}

// TL-4: a prefix is the server's of that name, else that of the first in the config.
#[tokio::test]
async fn a_prefix_that_is_anothers_is_not_used() {
    let logs = Logs::collect(Level::WARN);
    let executor =
        servers(&[("one", Some("files")), ("files", None), ("a", Some("x")), ("b", Some("x"))]);
    for server in ["one", "files", "a", "b"] {
        list(&executor, server, &["read"]);
    }
    assert_eq!(listed_names(&executor), ["one__read", "files__read", "x__read", "b__read"]);
    assert_eq!(executor.call("files__read", json!({})).await.text(), "files's read");
    assert_eq!(executor.call("x__read", json!({})).await.text(), "a's read");
    list(&executor, "files", &[]);
    list(&executor, "a", &[]);
    for name in ["files__read", "x__read"] {
        let result = executor.call(name, json!({})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::NotFound), "{}", result.text());
    }
    let warned = logs.lines();
    let about = |text: &str| warned.iter().filter(|line| line.contains(text)).count();
    assert_eq!(
        about("the prefix 'files' of server 'one' belongs to server 'files'"),
        1,
        "{warned:?}"
    );
    assert_eq!(about("the prefix 'x' of server 'b' belongs to server 'a'"), 1, "{warned:?}");
}

// TL-4: separators that overlap are all looked at.
#[test]
fn a_name_is_anothers_wherever_its_separator_stands() {
    let executor = servers(&[("weather", Some("")), ("files_", None), ("local", None)]);
    list(&executor, "weather", &["files___read", "my__files___read", "__read"]);
    assert_eq!(listed_names(&executor), ["weather__files___read", "my__files___read", "__read"]);
}

/// Nobody has looked yet which groups of workers there are.
struct LateServers(tokio::sync::watch::Receiver<bool>);

impl switchboard_runtime::ServerLink for LateServers {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            let mut looked = self.0.clone();
            _ = looked.wait_for(|looked| *looked).await;
            Ok(())
        })
    }

    fn status(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

// TL-4: the group of workers that is meant may be known only in a moment.
#[tokio::test(start_paused = true)]
async fn a_bare_name_that_may_be_a_groups_waits_until_groups_are_known() {
    let executor = servers(&[("weather", None)]);
    list(&executor, "weather", &["gpu__resize", "a__b"]);
    let (looked, seen) = tokio::sync::watch::channel(false);
    executor.tools().set_late_discovery(std::sync::Arc::new(LateServers(seen)));
    let look = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        executor.tools().add_server("gpu", ServerSettings::default()).unwrap();
        list(&executor, "gpu", &["resize"]);
        looked.send_replace(true);
    };
    let (meant, other, ()) = tokio::join!(
        executor.call("gpu__resize", json!({})),
        executor.call("a__b", json!({})),
        look
    );
    assert_eq!((meant.text(), other.text()), ("gpu's resize".into(), "weather's a__b".into()));
}
