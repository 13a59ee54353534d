//! An executor with real servers, and the questions that every test asks of them.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use indexmap::IndexMap;
use serde_json::{Map, Value};
use switchboard_mcp_client::{
    OutgoingRequest, ServerConfig, ServerDeps, ServerState, Servers, Session,
};
use switchboard_mcp_wire::Era;
use switchboard_process::guard::ProcessGuard;
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, ErrorKind, Progress, ToolCall, ToolResult},
};
use tokio_util::sync::CancellationToken;

use crate::parts::{example, processes_with};

/// An executor with servers that are connected.
pub(crate) struct TestServers {
    pub(crate) executor: ToolExecutor,
    pub(crate) servers: Servers,
    /// A variable that all children have, and everything that they start.
    mark: String,
}

impl TestServers {
    /// Connects to servers, over stdio under a guard as the real program does.
    pub(crate) async fn with<const N: usize>(configs: [(&str, ServerConfig); N]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let executor = ToolExecutor::default();
        let failures = Arc::new(Mutex::new(Vec::new()));
        let noted = failures.clone();
        let deps = ServerDeps {
            announce: Arc::new(move |told| noted.lock().unwrap().push(told.clone())),
            guard: Some(ProcessGuard { program: example("guard"), args: Vec::new() }),
            ..ServerDeps::new(executor.tools())
        };
        let marked = configs.map(|(name, mut config)| {
            config.env.insert("SWITCHBOARD_REAL".to_owned(), mark.clone());
            (name.to_owned(), config)
        });
        let servers = Servers::start(IndexMap::from(marked), executor.tools(), &deps).unwrap();
        servers.wait_until_ready().await;
        assert!(failures.lock().unwrap().is_empty(), "{:?}", failures.lock().unwrap());
        Self { executor, servers, mark: format!("SWITCHBOARD_REAL={mark}") }
    }

    /// Connects to one server, called `s`.
    pub(crate) async fn of(config: ServerConfig) -> Self {
        Self::with([("s", config)]).await
    }

    pub(crate) fn session(&self, server: &str) -> Arc<Session> {
        match self.servers.get(server).unwrap().state() {
            ServerState::Ready(session) => session,
            _ => panic!("'{server}' is not connected"),
        }
    }

    pub(crate) fn era(&self, server: &str) -> Era {
        self.session(server).era().clone()
    }

    /// The names of all tools, as models see them.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.executor.tools().all().iter().map(|tool| tool.name().to_string()).collect()
    }

    /// Calls a tool that has to succeed, and returns what it answers.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Value {
        let result = self.executor.call(tool, args).await;
        assert!(result.is_success(), "{tool}: {}", result.text());
        result.value().unwrap().into_owned()
    }

    /// Calls a tool that has to fail because the server says so, and returns the server's words.
    pub(crate) async fn refused(&self, tool: &str, args: Value) -> String {
        let result = self.executor.call(tool, args).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::ToolError), "{}", result.text());
        result.text()
    }

    /// What the server `s` answers to `tools/call`, before anything of ours looks at it.
    pub(crate) async fn raw(&self, tool: &str, args: Value) -> Value {
        let params = [("name".to_owned(), tool.into()), ("arguments".to_owned(), args)];
        let mut asking = OutgoingRequest::new("tools/call", Map::from_iter(params));
        asking.headers = vec![("Mcp-Name".to_owned(), tool.to_owned())];
        self.session("s").ask(asking).await.unwrap()
    }

    /// Calls a tool and notes, in order, each report of progress and at last the result.
    pub(crate) async fn watched(&self, tool: &str, args: Value) -> Vec<String> {
        let events = Arc::new(Mutex::new(Vec::new()));
        let noted = events.clone();
        let progress = Progress::to(move |update| {
            let total = update.total.unwrap_or_default();
            noted.lock().unwrap().push(format!("{} of {total}", update.progress));
        });
        let cx = CallContext { progress, ..CallContext::default() };
        let result = self.execute(tool, args, &cx).await;
        events.lock().unwrap().push(result.outcome_code().to_owned());
        // What comes later would stand behind the result.
        events.lock().unwrap().clone()
    }

    /// Calls a tool and cancels the call once `under_way` is done.
    pub(crate) async fn cancelled(
        &self,
        tool: &str,
        args: Value,
        under_way: impl Future<Output = ()>,
    ) -> ToolResult {
        let cancel = CancellationToken::new();
        let cx = CallContext { cancel: cancel.clone(), ..CallContext::default() };
        let call = self.execute(tool, args, &cx);
        let cancelling = async {
            under_way.await;
            cancel.cancel();
        };
        tokio::join!(call, cancelling).0
    }

    async fn execute(&self, tool: &str, args: Value, cx: &CallContext) -> ToolResult {
        let args = args.as_object().unwrap().clone();
        self.executor.execute(ToolCall::new(tool, args), cx).await
    }

    /// Ends all servers, and looks for what they left behind.
    pub(crate) async fn close(self) {
        let children = self.servers.all().iter().any(|server| server.config().command.is_some());
        assert_eq!(processes_with(&self.mark) > 0, children, "children run until they are ended");
        self.servers.close().await;
        // MC-7
        assert_eq!(processes_with(&self.mark), 0, "processes were left behind");
    }
}

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let step = std::time::Duration::from_millis(20);
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(step).await;
    }
    panic!("waited in vain until {what}");
}

/// The era of servers that open sessions.
pub(crate) fn legacy() -> Era {
    Era::Legacy("2025-11-25".to_owned())
}
