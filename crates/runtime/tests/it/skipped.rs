//! Local tools that are skipped because something that they need is missing (MC-8).

use serde_json::{Map, json};
use switchboard_runtime::{
    ServerSettings, ToolExecutor,
    toolcall::{CallContext, ErrorKind, ToolCall, Visibility},
};
use switchboard_testkit::Fake;

const SAYS: &str = "Tool 'search' is skipped: the environment variable KEY is not set";

/// A server with a tool `search`, and a local tool of that name that is skipped.
fn executor(prefix: Option<&str>) -> ToolExecutor {
    let executor = ToolExecutor::default();
    let settings = ServerSettings { prefix: prefix.map(str::to_owned), ..Default::default() };
    executor.tools().add_server("web", settings).unwrap();
    let search = Fake::answers("search", json!("the server's")).of_server("web").shared();
    executor.tools().set_server_tools("web", vec![search]);
    executor.tools().skip(&skipped());
    executor
}

fn skipped() -> Vec<(String, String)> {
    vec![("search".to_owned(), "the environment variable KEY is not set".to_owned())]
}

// TL-4
#[tokio::test]
async fn a_skipped_tool_says_why_and_no_servers_tool_takes_its_calls() {
    for prefix in [None, Some("")] {
        let executor = executor(prefix);
        let result = executor.call("search", json!({})).await;
        assert_eq!(
            (result.error_kind(), result.text()),
            (Some(ErrorKind::Unavailable), SAYS.into())
        );
        assert_eq!(executor.call("web__search", json!({})).await.text(), "the server's");
        let names: Vec<_> =
            executor.tools().listed().iter().map(|tool| tool.name().to_string()).collect();
        assert_eq!(names, ["web__search"]);
        assert!(
            executor.tools().is_skipped("search") && !executor.tools().is_skipped("web__search")
        );
    }
}

#[tokio::test]
async fn a_tool_that_is_defined_is_not_skipped() {
    let executor = executor(None);
    executor.tools().add(Fake::answers("search", json!("local"))).unwrap();
    assert_eq!(executor.call("search", json!({})).await.text(), "local");
    assert!(!executor.tools().is_skipped("search"));
    // A changed config skips it again, and the next one does not.
    executor.tools().replace(Vec::new(), Vec::new(), &skipped()).unwrap();
    assert_eq!(executor.call("search", json!({})).await.text(), SAYS);
    executor.tools().replace(Vec::new(), Vec::new(), &[]).unwrap();
    let result = executor.call("search", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::NotFound));
}

#[tokio::test]
async fn a_hidden_tool_that_is_skipped_does_not_exist() {
    let executor = executor(None);
    for (sees, expected) in [(true, ErrorKind::Unavailable), (false, ErrorKind::NotFound)] {
        let visibility = Visibility::of_tools(move |name| sees && name == "search");
        let cx = CallContext { visibility, ..CallContext::default() };
        let result = executor.execute(ToolCall::new("search", Map::new()), &cx).await;
        assert_eq!(result.error_kind(), Some(expected), "{}", result.text());
    }
}
