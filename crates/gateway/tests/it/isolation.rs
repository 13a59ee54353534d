//! Callers kept apart: what each can observe has nothing of another's calls, nor of tools that it may not see.

mod upstream;

use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::{prelude::*, sample::subsequence};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_mcp_server::{DiscoveryMode, McpCaller, Server};
use switchboard_runtime::{AddError, services};
use switchboard_testkit::{Fake, until};
use switchboard_toolcall::{Content, Part, ProfileRules, ServerQuestions, ToolOutput, Visibility};
use tokio::{io::AsyncReadExt, task::JoinHandle};

use crate::{TestGateway, answer};

/// Tools that may be hidden; no name is part of another one. Calls of the last wait for a person, and in those of
/// `mail_send` a server asks something.
const TOOLS: [&str; 6] =
    ["files_read", "files_write", "mail_read", "mail_send", "quux_query", "delete_quux"];
/// Tools that every caller here may see.
const SERVICES: [&str; 4] = ["read_result", "tool_search", "call_history", "server_status"];

/// A token, as the test makes it.
#[derive(Clone, Debug)]
struct Right {
    name: &'static str,
    /// Which of `TOOLS` it may see; all if unset.
    tools: Option<Vec<&'static str>>,
    /// Which of `TOOLS` its profile shows under other names, if it is bound to one.
    profile: Option<Vec<&'static str>>,
    watch: bool,
}

/// What profiles call `TOOLS`, if they rename them.
const SHOWN: [&str; 6] = ["shown_a", "shown_b", "shown_c", "shown_d", "shown_e", "shown_f"];

impl Right {
    /// The profile that its token is bound to: with the tools that it sees, some under other names and with an argument that
    /// callers neither see nor send.
    fn rules(&self) -> Option<(String, ProfileRules)> {
        let renamed = self.profile.as_ref()?;
        let tools = self.tools.clone().unwrap_or_else(|| TOOLS.to_vec());
        let change = |tool: &&'static str| {
            let fixed = json!({"fixed": "fixed-by-the-profile"});
            let change = json!({"name": self.name_for(tool), "arguments": {"zone": fixed}});
            (tool.to_string(), change)
        };
        let config = json!({
            "tools": tools.iter().chain(&SERVICES).collect::<Vec<_>>(),
            "tool": renamed.iter().map(change).collect::<serde_json::Map<_, _>>(),
        });
        let rules = ProfileRules::new(serde_json::from_value(config).unwrap()).unwrap();
        Some((self.name.to_owned(), rules))
    }

    /// What it calls the tool.
    fn name_for(&self, tool: &'static str) -> &'static str {
        let is_renamed = self.profile.as_ref().is_some_and(|renamed| renamed.contains(&tool));
        match TOOLS.iter().position(|other| *other == tool) {
            Some(at) if is_renamed && self.sees(tool) => SHOWN[at],
            _ => tool,
        }
    }

    /// The names of tools that it must never hear.
    fn unheard(&self) -> Vec<&'static str> {
        let all = TOOLS.into_iter();
        all.filter(|tool| !self.sees(tool) || self.name_for(tool) != *tool).collect()
    }

    fn sees(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(&tool))
    }

    fn knows(&self, call: &Call) -> bool {
        // In a profile, others' calls are not there, even for who watches.
        if self.profile.is_some() && call.caller != Some(self.name) {
            return false;
        }
        self.sees(call.tool) && (self.watch || call.caller == Some(self.name))
    }

    fn make(&self, gateway: &TestGateway) -> String {
        let tools = self.tools.as_ref().map(|tools| {
            tools.iter().chain(&SERVICES).map(ToString::to_string).collect::<Vec<_>>()
        });
        let name = self.name.to_owned();
        let profile = self.profile.as_ref().map(|_| name.clone());
        let tools = tools.filter(|_| profile.is_none());
        let new = NewToken { name, tools, profile, watch: self.watch, ..NewToken::default() };
        gateway.tokens.create(new).unwrap()
    }
}

/// A call, and what tells of it.
struct Call {
    tool: &'static str,
    caller: Option<&'static str>,
    /// A text that only its arguments and its result have.
    marker: String,
    /// Its id, and that of its artifact; a call that is held has neither yet.
    id: Option<String>,
    artifact: Option<String>,
}

fn right(name: &'static str) -> impl Strategy<Value = Right> {
    let tools = prop::option::of(subsequence(TOOLS.to_vec(), 0..=TOOLS.len()));
    let profile = prop::option::of(subsequence(TOOLS.to_vec(), 0..=TOOLS.len()));
    (tools, profile, any::<bool>()).prop_map(move |(tools, profile, watch)| Right {
        name,
        tools,
        profile,
        watch,
    })
}

/// Who calls: the first token, the second, or somebody without one.
fn calls() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..3_usize, 0..TOOLS.len()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    // GW-5, FT-5
    #[test]
    fn nobody_observes_what_is_not_theirs(
        one in right("first-caller"),
        two in right("second-caller"),
        calls in calls(),
        records in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(check([one, two], &calls, records));
    }
}

// FT-5: who sees all tools, but not others' calls, is not told which profiles there are. Found by the property above.
#[tokio::test]
async fn a_caller_without_a_profile_hears_of_none() {
    let bound =
        Right { name: "first-caller", tools: None, profile: Some(Vec::new()), watch: false };
    let free = Right { name: "second-caller", tools: None, profile: None, watch: false };
    check([bound, free], &[(0, 0)], false).await;
}

// GW-5: the hint of a refused call names tools that a watcher of that call may not see.
#[tokio::test]
async fn a_watcher_reads_no_names_of_tools_that_are_hidden_from_it() {
    let (profile, tools) = (None, Some(vec!["mail_read"]));
    let watcher = Right { name: "first-caller", tools, profile, watch: true };
    let (profile, tools) = (None, Some(vec!["mail_send"]));
    let caller = Right { name: "second-caller", tools, profile, watch: false };
    let mail_read = TOOLS.iter().position(|tool| *tool == "mail_read").expect("it is one of them");
    check([watcher, caller], &[(1, mail_read)], true).await;
}

async fn check(rights: [Right; 2], plan: &[(usize, usize)], records: bool) {
    let gateway = if records { TestGateway::recording().await } else { TestGateway::start().await };
    add_tools(&gateway);
    gateway.executor.tools().set_profiles(rights.iter().filter_map(Right::rules).collect());
    let tokens = rights.each_ref().map(|right| right.make(&gateway));
    let streams = [follow(&gateway, &tokens[0]).await, follow(&gateway, &tokens[1]).await];
    let callers = [Some(&tokens[0]), Some(&tokens[1]), None];
    let names = [Some(rights[0].name), Some(rights[1].name), None];
    let mut calls = Vec::new();
    for (number, (who, tool)) in plan.iter().enumerate() {
        let (tool, marker) = (TOOLS[*tool], format!("marker-{number}-of-{who}"));
        let shown = rights.get(*who).map_or(tool, |right| right.name_for(tool));
        if shown != tool {
            // Its old name finds nothing, and is not told of afterwards.
            let marker = format!("by-the-old-name-of-{}", rights[*who].name);
            let (id, _) = call(&gateway, tool, &marker, callers[*who]).await;
            assert!(id.is_some());
        }
        let made = match tool {
            "delete_quux" => hold(&gateway, shown, &marker, callers[*who]).await,
            "mail_send" => be_asked(&gateway, shown, &marker, callers[*who]).await,
            _ => call(&gateway, shown, &marker, callers[*who]).await,
        };
        let (id, artifact) = made;
        calls.push(Call { tool, caller: names[*who], marker, id, artifact });
    }
    for ((right, token), stream) in rights.iter().zip(&tokens).zip(streams) {
        let mut seen = observe(&gateway, token, &calls).await;
        // Half of the cases are enough for the slower ones.
        if records {
            seen.extend(converse(&gateway, token).await);
            seen.extend(entrances(&gateway, Some(token), right).await);
        }
        seen.push(("events".to_owned(), stream.until("the-end").await));
        judge(right, &rights, &calls, &seen);
        alike(&gateway, token, right).await;
        if records && right.profile.is_some() {
            // The owner looks through the same profile without being bound to it.
            let seen = entrances(&gateway, None, right).await;
            let over_stdio = over_stdio(&gateway, right).await;
            let seen = [seen, by_header(&gateway, right, &calls).await, over_stdio].concat();
            hears_no_names(right, &seen);
        }
    }
}

/// Each tool answers with a picture that is its argument: so there is an artifact.
fn add_tools(gateway: &TestGateway) {
    for name in TOOLS {
        let tool = Fake::new(name, move |args: Value, cx| async move {
            if let Some(back) = cx.caller_channel.as_ref().filter(|_| name == "mail_send") {
                let asks = format!("asks-{}", args["note"].as_str().unwrap_or_default());
                let params = json!({"message": asks});
                back.ask(ServerQuestions::elicit(asks, "q", params)).await?;
            }
            let data = STANDARD.encode(args["note"].as_str().unwrap_or_default());
            let picture = json!({"type": "image", "mimeType": "image/png", "data": data});
            let picture = Part(picture.as_object().unwrap().clone());
            Ok(ToolOutput::Content(Content { parts: vec![picture], fields: Default::default() }))
        });
        gateway.executor.tools().add(tool).unwrap();
    }
    let added: Result<Vec<()>, AddError> = services::all(&gateway.executor)
        .into_iter()
        .map(|tool| gateway.executor.tools().add_shared(tool))
        .collect();
    added.unwrap();
}

type Made = (Option<String>, Option<String>);

async fn call(gateway: &TestGateway, tool: &str, marker: &str, token: Option<&String>) -> Made {
    let mut request = gateway.call(tool, &json!({"note": marker}));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let (_, envelope) = answer(request).await;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (text(&envelope["call_id"]), text(&envelope["artifacts"][0]["id"]))
}

/// Makes a call that waits for a person, or is refused because its tool is hidden.
async fn hold(gateway: &TestGateway, tool: &str, marker: &str, token: Option<&String>) -> Made {
    let mut request = gateway.call(tool, &json!({"note": marker}));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let called = tokio::spawn(answer(request));
    until(async || {
        let (_, waiting) = answer(gateway.get("/api/approvals")).await;
        called.is_finished() || waiting.to_string().contains(marker)
    })
    .await;
    (None, None)
}

/// Makes a call in which a server asks something that nobody answers, or which is refused because its tool is hidden.
async fn be_asked(gateway: &TestGateway, tool: &str, marker: &str, token: Option<&String>) -> Made {
    let with_token = |request: RequestBuilder| match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let request = gateway.call(tool, &json!({"note": marker}));
    let request = with_token(request.header("x-switchboard-answers", "elicitation"));
    let called = tokio::spawn(answer(request));
    until(async || {
        let (_, open) = answer(with_token(gateway.get("/api/questions"))).await;
        called.is_finished() || open.to_string().contains(marker)
    })
    .await;
    (None, None)
}

/// What comes on a stream of events.
struct Stream {
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

async fn follow(gateway: &TestGateway, token: &str) -> Stream {
    let mut response = gateway.get("/api/events").bearer_auth(token).send().await.unwrap();
    let text = Arc::<Mutex<String>>::default();
    let heard = text.clone();
    let reading = tokio::spawn(async move {
        while let Ok(Some(chunk)) = response.chunk().await {
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk));
        }
    });
    Stream { text, reading }
}

impl Stream {
    async fn until(self, word: &str) -> String {
        until(async || self.text.lock().unwrap().contains(word)).await;
        self.reading.abort();
        self.text.lock().unwrap().clone()
    }
}

/// Everything that a token can look at: what was asked, and what came.
async fn observe(gateway: &TestGateway, token: &str, calls: &[Call]) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let mut paths: Vec<String> = [
        "/api/tools",
        "/api/tool-costs",
        "/api/calls?limit=1000",
        "/api/calls?caller=second-caller",
        "/api/stats?by=caller",
        "/api/stats?by=tool",
        "/api/servers",
        "/api/approvals",
        "/api/approvals/rules",
        "/api/questions",
        "/api/session",
        "/api/chats",
        "/api/turns",
        "/api/runs",
        "/v1/models",
        "/metrics",
        "/readyz",
        "/openapi.json",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend(TOOLS.iter().map(|tool| format!("/api/tools/{}", nearly(tool))));
    for call in calls {
        paths.extend(call.id.iter().map(|id| format!("/api/calls/{id}")));
        paths.extend(call.artifact.iter().map(|id| format!("/api/artifacts/{id}")));
    }
    for path in paths {
        let (_, body) = answer(gateway.get(&path).bearer_auth(token)).await;
        seen.push((path, body.to_string()));
    }
    let mut asked = vec![
        ("call_history", json!({"limit": 1000})),
        ("tool_search", json!({"query": "e fake read files mail quux delete", "limit": 100})),
        ("server_status", json!({})),
    ];
    // What is close to a hidden name must not be hinted at.
    asked.extend(TOOLS.iter().map(|tool| (nearly(tool), json!({}))));
    let artifacts = calls.iter().filter_map(|call| call.artifact.as_ref());
    asked.extend(artifacts.map(|id| ("read_result", json!({"id": id}))));
    for (tool, args) in asked {
        let (_, body) = answer(gateway.call(tool, &args).bearer_auth(token)).await;
        seen.push((format!("{tool} {args}"), body.to_string()));
    }
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "call_history", "arguments": {"limit": 1000}})),
    ] {
        seen.push((method.to_owned(), mcp(gateway, token, method, params).await));
    }
    let last = gateway.call("server_status", &json!({})).header("x-conversation", "the-end");
    answer(last.bearer_auth(token)).await;
    seen
}

/// Part of a name that is close to the names of hidden tools, which must not be hinted at.
fn nearly(tool: &str) -> &str {
    &tool[..tool.len() - 1]
}

/// What a model is shown and hears in a conversation that the token's holder has with it.
async fn converse(gateway: &TestGateway, token: &str) -> Vec<(String, String)> {
    let search = json!({"query": "e fake read files mail quux delete", "limit": 100});
    let calls = TOOLS.iter().map(|tool| format!("call {} {{}}", nearly(tool)));
    let orders: Vec<_> = calls.chain([format!("call tool_search {search}")]).collect();
    let messages = json!([{"role": "user", "content": orders.join("\n")}]);
    let body = json!({"model": "parrot", "messages": messages});
    let before = gateway.parrot.asked().len();
    let request = gateway.client.post(gateway.url("/v1/chat/completions")).json(&body);
    let (status, said) = answer(request.bearer_auth(token)).await;
    assert_eq!(status, 200, "{said}");
    let asked = format!("{:?}", &gateway.parrot.asked()[before..]);
    vec![("/v1".to_owned(), said.to_string()), ("the model".to_owned(), asked)]
}

/// What the owner sees of a profile by the header of REST.
async fn by_header(gateway: &TestGateway, right: &Right, calls: &[Call]) -> Vec<(String, String)> {
    let header = ("x-switchboard-profile", right.name);
    let mut seen = Vec::new();
    let ids =
        calls.iter().filter(|call| !right.sees(call.tool)).filter_map(|call| call.id.as_ref());
    let paths = [
        "/api/tools",
        "/api/tool-costs",
        "/api/calls?limit=1000",
        "/api/stats?by=tool",
        "/openapi.json",
    ];
    let near = TOOLS.iter().map(|tool| format!("/api/tools/{}", nearly(tool)));
    let paths = paths.map(str::to_owned).into_iter().chain(near);
    for path in paths.chain(ids.map(|id| format!("/api/calls/{id}"))) {
        let (_, body) = answer(gateway.get(&path).header(header.0, header.1)).await;
        seen.push((format!("{path} by header"), body.to_string()));
    }
    for tool in TOOLS {
        let request = gateway.call(nearly(tool), &json!({})).header(header.0, header.1);
        seen.push((format!("{} by header", nearly(tool)), answer(request).await.1.to_string()));
    }
    seen
}

/// What MCP tells: to a token at its own address or its profile's, and to the owner at that of the profile; as a list in
/// one era, and as search in the other.
async fn entrances(
    gateway: &TestGateway,
    token: Option<&str>,
    right: &Right,
) -> Vec<(String, String)> {
    let profile = right.profile.as_ref().map(|_| format!("/mcp/{}", right.name));
    let own = profile.clone().unwrap_or_else(|| "/mcp".to_owned());
    let (alone, in_session) = match token {
        Some(_) => (format!("{own}?tools=search"), "/mcp".to_owned()),
        None => (own.clone(), format!("{own}?tools=search")),
    };
    let mut seen = session(gateway, &in_session, token).await;
    for (method, params) in requests() {
        let request = modern(gateway, &alone, method, params.clone());
        let (_, body) = answer(with_token(request, token)).await;
        seen.push((format!("{alone} {method} {params}"), body.to_string()));
    }
    seen
}

/// What `serve --stdio --profile` tells: as a list and as search, in both eras.
async fn over_stdio(gateway: &TestGateway, right: &Right) -> Vec<(String, String)> {
    let tools = gateway.executor.tools();
    let profile = tools.profile(right.name).expect("the profile is there");
    let mut seen = Vec::new();
    for discovery in [DiscoveryMode::List, DiscoveryMode::Search] {
        for in_session in [false, true] {
            let visibility = Visibility::of_profile(profile.clone());
            let discovery = Some(discovery);
            let caller = McpCaller { visibility, discovery, ..McpCaller::owner() };
            let config = switchboard_mcp_server::Config::default();
            let server = Server::new(gateway.executor.clone(), None, config);
            let (theirs, mut ours) = tokio::io::duplex(1 << 16);
            let reading = tokio::spawn(async move {
                let mut told = String::new();
                ours.read_to_string(&mut told).await.map(|_| told)
            });
            let input = stdio_lines(in_session);
            server.serve_stdio(input.as_bytes(), theirs, caller).await.unwrap();
            let told = reading.await.unwrap().unwrap();
            let asked = format!("stdio, {discovery:?}, in a session: {in_session}");
            assert!(told.lines().count() >= requests().len(), "{asked}: {told}");
            seen.push((asked, told));
        }
    }
    seen
}

/// The requests as lines, of a session or each alone.
fn stdio_lines(in_session: bool) -> String {
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opening = [
        json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let mut lines: Vec<_> = opening.into_iter().filter(|_| in_session).collect();
    for (id, (method, mut params)) in requests().into_iter().enumerate() {
        if !in_session {
            params["_meta"] = meta();
        }
        lines.push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What a request has that stands alone.
fn meta() -> Value {
    let meta = "io.modelcontextprotocol";
    json!({
        format!("{meta}/protocolVersion"): "2026-07-28",
        format!("{meta}/clientCapabilities"): {},
    })
}

/// Everything that a client of MCP can ask.
fn requests() -> Vec<(&'static str, Value)> {
    let call = |name: &str, args: Value| json!({"name": name, "arguments": args});
    let search = json!({"query": "e fake read files mail quux delete", "limit": 100});
    let mut asked = vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "file:///x"})),
        ("prompts/list", json!({})),
        ("tools/call", call("tool_search", search)),
        ("tools/call", call("call_history", json!({"limit": 1000}))),
    ];
    for tool in TOOLS.into_iter().step_by(2) {
        let through = json!({"name": nearly(tool), "arguments": {}});
        asked.push(("tools/call", call(nearly(tool), json!({}))));
        asked.push(("tools/call", call("tool_call", through)));
    }
    asked.push(("prompts/get", json!({"name": nearly(TOOLS[0])})));
    asked
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// What a session of the revisions before 2026-07-28 hears.
async fn session(gateway: &TestGateway, path: &str, token: Option<&str>) -> Vec<(String, String)> {
    session_with(gateway, path, token, requests()).await
}

/// What such a session hears if it asks this: what `initialize` says, then an answer to each.
async fn session_with(
    gateway: &TestGateway,
    path: &str,
    token: Option<&str>,
    requests: Vec<(&str, Value)>,
) -> Vec<(String, String)> {
    let post = |body: Value| {
        let request = gateway.client.post(gateway.url(path)).json(&body);
        let request = request.header("accept", "application/json, text/event-stream");
        with_token(request, token)
    };
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opened =
        post(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})).send();
    let opened = opened.await.unwrap();
    let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let mut seen = vec![(format!("{path} initialize"), opened.text().await.unwrap())];
    for (method, params) in requests {
        let what = format!("{path} in a session, {method} {params}");
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        let (_, body) = answer(post(body).header("mcp-session-id", &id)).await;
        seen.push((what, body.to_string()));
    }
    seen
}

/// Asks in the way of a request that stands alone.
async fn mcp(gateway: &TestGateway, token: &str, method: &str, params: Value) -> String {
    let request = modern(gateway, "/mcp", method, params);
    let (status, body) = answer(request.bearer_auth(token)).await;
    assert_eq!(status, 200, "{body}");
    body.to_string()
}

fn modern(gateway: &TestGateway, path: &str, method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"] = meta();
    let mut request = gateway
        .client
        .post(gateway.url(path))
        .header("accept", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
        request = request.header("mcp-name", name);
    }
    request.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Checks that nothing names a tool that is hidden, or what the profile decides.
fn hears_no_names(right: &Right, seen: &[(String, String)]) {
    let own = format!("by-the-old-name-of-{}", right.name);
    let mut hidden = right.unheard();
    if right.profile.is_some() {
        hidden.extend(["fixed-by-the-profile", &own]);
    }
    for (asked, text) in seen {
        for tool in &hidden {
            assert!(!text.contains(*tool), "{right:?} heard of {tool} by {asked}: {text}");
        }
    }
}

fn judge(right: &Right, rights: &[Right; 2], calls: &[Call], seen: &[(String, String)]) {
    hears_no_names(right, seen);
    for (asked, text) in seen {
        for call in calls.iter().filter(|call| !right.knows(call)) {
            // A picture comes as it is, and in records as base64.
            let encoded = STANDARD.encode(&call.marker);
            let is_told = text.contains(&call.marker) || text.contains(&encoded);
            assert!(!is_told, "{right:?} got {} by {asked}: {text}", call.marker);
        }
        // What somebody is asked is for nobody else, not even for who watches.
        for call in calls.iter().filter(|call| call.caller != Some(right.name)) {
            let asks = format!("asks-{}", call.marker);
            assert!(!text.contains(&asks), "{right:?} got {asks} by {asked}: {text}");
        }
        for other in rights.iter().filter(|other| other.name != right.name && !right.watch) {
            let is_told = text.contains(other.name);
            assert!(!is_told, "{right:?} heard of {} by {asked}: {text}", other.name);
        }
    }
    // What is theirs is there: a gateway that shows nothing would keep everybody apart, too.
    let text = |asked: &str| {
        &seen.iter().find(|(other, _)| other.as_str() == asked).expect("it was asked").1
    };
    for call in calls.iter().filter(|call| right.knows(call)) {
        for asked in ["/api/calls?limit=1000", "events"] {
            assert!(text(asked).contains(&call.marker), "{right:?}: {asked} of {}", call.marker);
        }
        if call.tool == "mail_send" && call.caller == Some(right.name) {
            for asked in ["/api/questions", "events"] {
                let asks = format!("asks-{}", call.marker);
                assert!(text(asked).contains(&asks), "{right:?}: {asked} of {asks}");
            }
        }
        if let Some(id) = &call.artifact {
            assert!(text(&format!("/api/artifacts/{id}")).contains(&call.marker), "{right:?}");
        }
    }
}

/// A hidden tool is answered for as one that does not exist.
async fn alike(gateway: &TestGateway, token: &str, right: &Right) {
    let failure = async |tool: &str| {
        let (status, body) = answer(gateway.call(tool, &json!({})).bearer_auth(token)).await;
        (status, body["error"].to_string().replace(tool, "NAME"), body["hint"].is_null())
    };
    let nothing = failure("zzzzzzzzzzzz").await;
    let definition = async |tool: &str| {
        let (status, body) =
            answer(gateway.get(&format!("/api/tools/{tool}")).bearer_auth(token)).await;
        (status, body.to_string().replace(tool, "NAME"))
    };
    let nowhere = definition("zzzzzzzzzzzz").await;
    for tool in right.unheard() {
        let (status, error, _) = failure(tool).await;
        assert_eq!((status, &error), (nothing.0, &nothing.1), "{tool}");
        assert_eq!(definition(tool).await, nowhere, "{tool}");
    }
}

// GW-5: content that two callers' calls brought is kept once, and both may read it.
#[tokio::test]
async fn an_artifact_of_two_callers_is_readable_by_both() {
    let gateway = TestGateway::recording().await;
    add_tools(&gateway);
    let token = |name| Right { name, tools: None, profile: None, watch: false }.make(&gateway);
    let [one, two, three] = ["one", "two", "three"].map(token);
    let (_, first) = call(&gateway, "files_read", "the same", Some(&one)).await;
    let (_, second) = call(&gateway, "files_read", "the same", Some(&two)).await;
    assert_eq!(first, second);
    let path = format!("/api/artifacts/{}", first.unwrap());
    let status = async |token: &String| answer(gateway.get(&path).bearer_auth(token)).await.0;
    assert_eq!([status(&one).await, status(&two).await, status(&three).await], [200, 200, 404]);
    assert_eq!(answer(gateway.get(&path)).await.0, 200, "the owner");
}

// GW-5: who decides about held calls sees those, and nothing else of others.
#[tokio::test]
async fn an_approver_sees_held_calls_and_no_others() {
    let gateway = TestGateway::recording().await;
    add_tools(&gateway);
    let approver = NewToken { name: "ada".to_owned(), approve: true, ..NewToken::default() };
    let approver = gateway.tokens.create(approver).unwrap();
    let agent = Right { name: "agent", tools: None, profile: None, watch: false }.make(&gateway);
    let stream = follow(&gateway, &approver).await;
    call(&gateway, "files_read", "private", Some(&agent)).await;
    hold(&gateway, "delete_quux", "to decide", Some(&agent)).await;
    let (_, waiting) = answer(gateway.get("/api/approvals").bearer_auth(&approver)).await;
    assert_eq!(waiting["approvals"][0]["arguments"]["note"], "to decide");
    let (_, calls) = answer(gateway.get("/api/calls").bearer_auth(&approver)).await;
    assert_eq!(calls, json!([]));
    let heard = stream.until("to decide").await;
    assert!(heard.contains("\"held\"") && !heard.contains("private"), "{heard}");
}

// GW-5: a name may not fill records.
#[tokio::test]
async fn a_name_of_more_than_a_kilobyte_is_refused_and_recorded_short() {
    let gateway = TestGateway::recording().await;
    let long = "x".repeat(2000);
    let (status, body) = answer(gateway.call(&long, &json!({}))).await;
    assert_eq!(status, 404, "{body}");
    assert!(body["hint"].as_str().unwrap().contains("at most 1024 bytes; this one has 2000"));
    let (_, calls) = answer(gateway.get("/api/calls")).await;
    assert_eq!(calls[0]["tool"].as_str().unwrap().chars().count(), 65, "{calls}");
}

// GW-5
#[tokio::test]
async fn an_open_stream_ends_when_its_token_is_revoked() {
    let gateway = TestGateway::start().await;
    let token = Right { name: "gone", tools: None, profile: None, watch: true }.make(&gateway);
    let mut response = gateway.get("/api/events").bearer_auth(&token).send().await.unwrap();
    gateway.tokens.revoke("gone").unwrap();
    // If it never ends, the test runner ends the test.
    while let Some(chunk) = response.chunk().await.unwrap() {
        assert!(!String::from_utf8_lossy(&chunk).contains("call_started"));
    }
}

// GW-5: probes are answered under any name, and hear neither names nor errors.
#[tokio::test]
async fn readiness_tells_names_only_to_who_watches() {
    let config = switchboard_gateway::Config { require_token: true, ..Default::default() };
    let gateway = TestGateway::with_server(config, "exit 1").await;
    until(async || answer(gateway.get("/readyz")).await.1["status"] == "degraded").await;
    let plain = Right { name: "plain", tools: None, profile: None, watch: false }.make(&gateway);
    let watcher = Right { name: "watcher", tools: None, profile: None, watch: true }.make(&gateway);
    for request in [
        gateway.get("/readyz"),
        gateway.get("/readyz").bearer_auth(&plain),
        gateway.get("/readyz").bearer_auth("sb_nobody"),
        gateway.get("/readyz").bearer_auth(&watcher).header("host", "rebound.example"),
    ] {
        assert_eq!(answer(request).await, (200, json!({"status": "degraded"})));
    }
    let (_, told) = answer(gateway.get("/readyz").bearer_auth(&watcher)).await;
    assert!(told["degraded"][0]["server"].is_string(), "{told}");
    let (status, refused) = answer(gateway.get("/metrics").bearer_auth(&plain)).await;
    assert_eq!(status, 403, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("--watch"));
    assert_eq!(answer(gateway.get("/metrics").bearer_auth(&watcher)).await.0, 200);
}
