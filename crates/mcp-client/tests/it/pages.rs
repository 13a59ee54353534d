//! Servers that want a page opened before they handle a call (`-32042` of MCP 2025-11-25).

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use switchboard_runtime::toolcall::{
    BoxFuture, CallContext, CallerChannel, ErrorKind, QuestionKind, ServerQuestions, ToolCall,
    ToolError, ToolResult,
};

use super::TestServers;

/// A caller that does the same with every page.
#[derive(Debug)]
struct PageCaller {
    action: &'static str,
    /// What it declares, if it is a client.
    declared: Option<Value>,
    asked: Mutex<Vec<Value>>,
}

impl PageCaller {
    fn new(action: &'static str, declared: Option<Value>) -> Arc<Self> {
        Arc::new(Self { action, declared, asked: Mutex::default() })
    }

    async fn call(self: &Arc<Self>, test: &TestServers) -> ToolResult {
        let cx = CallContext { caller_channel: Some(self.clone()), ..Default::default() };
        let args = json!({"text": "hi"}).as_object().unwrap().clone();
        test.executor.execute(ToolCall::new("s__echo", args), &cx).await
    }
}

impl CallerChannel for PageCaller {
    fn answers(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::Elicit
    }

    fn ask(&self, asked: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        let mut answers = Map::new();
        for (key, question) in asked.questions {
            self.asked.lock().unwrap().push(question.params);
            answers.insert(key, json!({"action": self.action}));
        }
        Box::pin(std::future::ready(Ok(answers)))
    }

    fn declared(&self) -> Option<&Value> {
        self.declared.as_ref()
    }
}

// AU-3, MC-3: the caller is shown the page once, and the call goes on when the server says that it is done.
#[tokio::test]
async fn the_caller_is_shown_the_page_and_the_call_goes_on() {
    let test = TestServers::misbehaving("wants-page=1,tells-page-done").await;
    let caller = PageCaller::new("accept", Some(json!({"elicitation": {"url": {}}})));
    let result = caller.call(&test).await;
    assert!(result.is_success(), "{}", result.text());
    let asked = caller.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [json!({
            "mode": "url", "message": "Connect your account.", "url": "https://pages.example/1", "elicitationId": "page-1",
        })]
    );
    test.servers.close().await;
}

// AU-3: not every server says that a page is done.
#[tokio::test]
async fn a_server_that_does_not_tell_is_asked_again() {
    let test = TestServers::misbehaving("wants-page=1").await;
    let caller = PageCaller::new("accept", None);
    let result = caller.call(&test).await;
    assert!(result.is_success(), "{}", result.text());
    assert_eq!(caller.asked.lock().unwrap().len(), 1);
    test.servers.close().await;
}

// AU-3, RS-2
#[tokio::test]
async fn who_is_not_shown_the_page_gets_its_address() {
    let test = TestServers::misbehaving("wants-page=9").await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{}", result.text());
    let hint = |result: &ToolResult| result.outcome.as_ref().unwrap_err().hint.clone().unwrap();
    assert_eq!(hint(&result), "Open https://pages.example/1 and call again.");
    // A client that takes forms only reads the address in the text, since it sees no hints.
    let forms_only = PageCaller::new("accept", Some(json!({"elicitation": {}})));
    let result = forms_only.call(&test).await;
    assert!(
        result
            .text()
            .contains("Connect your account.; open https://pages.example/1 and call again"),
        "{}",
        result.text()
    );
    let declining = PageCaller::new("decline", None);
    let result = declining.call(&test).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{}", result.text());
    assert!(result.text().contains("did not want to open its page"), "{}", result.text());
    assert_eq!(forms_only.asked.lock().unwrap().len(), 0);
    test.servers.close().await;
}
