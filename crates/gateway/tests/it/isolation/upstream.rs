//! What a server behind the gateway has is there only for callers who may use it: its tools, resources, prompts,
//! completions, instructions and name, and the changes of each.

use std::sync::{Arc, Mutex};

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_gateway::Config;
use switchboard_runtime::services;
use switchboard_testkit::{Fake, until};
use switchboard_toolcall::ProfileRules;
use tokio::task::JoinHandle;

use super::{modern, session_with, with_token};
use crate::{TestGateway, answer};

/// A server with one of everything. A call of its tool changes all its lists.
const SERVER: &str = r#"
n=1
say() { printf "$@"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true},"prompts":{"listChanged":true},"completions":{}},"serverInfo":{"name":"quxserver","version":"1"},"instructions":"quxinstructions"}}\n' "$id";;
    *'"tools/list"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"quxtool","description":"tool number %s","inputSchema":{"type":"object"}}]}}\n' "$id" "$n";;
    *'"resources/list"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"resources":[{"uri":"qux:res","name":"quxname"}]}}\n' "$id";;
    *'"resources/templates/list"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"resourceTemplates":[{"uriTemplate":"qux:any/{n}","name":"quxname"}]}}\n' "$id";;
    *'"resources/read"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":"qux:res","text":"quxbook"}]}}\n' "$id";;
    *'"prompts/list"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"prompts":[{"name":"quxprompt"}]}}\n' "$id";;
    *'"prompts/get"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"messages":[{"role":"user","content":{"type":"text","text":"quxsaid"}}]}}\n' "$id";;
    *'"completion/complete"'*) say '{"jsonrpc":"2.0","id":%s,"result":{"completion":{"values":["quxvalue"]}}}\n' "$id";;
    *'"tools/call"'*) n=$((n + 1)); say '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"quxdone"}]}}\n' "$id"
      for list in tools resources prompts; do say '{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}\n' "$list"; done;;
  esac
done
"#;

/// What a caller may use of the server, if it sees what these globs match.
const GLOBS: [&str; 4] =
    ["tiny__quxtool", "tiny__resources/*", "tiny__prompts/get", "tiny__completion/complete"];
const TOOL: usize = 0;
const RESOURCES: usize = 1;
const PROMPTS: usize = 2;

/// A caller who sees some of that, by its globs or by its profile.
struct UpstreamCaller {
    name: String,
    sees: [bool; 4],
    token: String,
}

impl UpstreamCaller {
    /// The texts that it must not read.
    fn hidden(&self) -> Vec<&'static str> {
        let texts: [&[&str]; 4] = [
            &["quxtool", "quxdone", "tool number"],
            &["qux:res", "qux:any", "quxname", "quxbook"],
            &["quxprompt", "quxsaid"],
            &["quxvalue"],
        ];
        let mut hidden: Vec<_> = texts
            .iter()
            .zip(self.sees)
            .filter(|(_, sees)| !sees)
            .flat_map(|(texts, _)| texts.iter().copied())
            .collect();
        if self.sees == [false; 4] {
            hidden.extend(["tiny", "quxserver", "quxinstructions"]);
        }
        hidden
    }

    /// What it has to find, or the test would pass if there were nothing to be seen.
    fn visible_texts(&self) -> Vec<&'static str> {
        let [tool, resources, prompts, completions] = self.sees;
        let texts = [
            (tool, "quxtool"),
            (resources, "quxbook"),
            (prompts, "quxsaid"),
            (completions && (resources || prompts), "quxvalue"),
        ];
        texts.iter().filter(|(is_seen, _)| *is_seen).map(|(_, text)| *text).collect()
    }
}

/// Every choice of what can be seen, by globs and by a profile.
fn callers(gateway: &TestGateway) -> Vec<UpstreamCaller> {
    let mut callers = Vec::new();
    let mut profiles = Vec::new();
    for bits in 0..16 {
        let sees = std::array::from_fn(|place| bits & (1 << place) != 0);
        let own = ["echo*", "server_status", "tool_search", "call_history"];
        let globs = GLOBS.iter().zip(sees).filter(|(_, sees)| *sees).map(|(glob, _)| *glob);
        let globs: Vec<_> = own.into_iter().chain(globs).map(str::to_owned).collect();
        for in_profile in [false, true] {
            let name = format!("{}-{bits}", if in_profile { "profile" } else { "globs" });
            let mut new = NewToken { name: name.clone(), ..NewToken::default() };
            if in_profile {
                let config = serde_json::from_value(json!({"tools": globs})).unwrap();
                profiles.push((name.clone(), ProfileRules::new(config).unwrap()));
                new.profile = Some(name.clone());
            } else {
                new.tools = Some(globs.clone());
            }
            let token = gateway.tokens.create(new).unwrap();
            callers.push(UpstreamCaller { name, sees, token });
        }
    }
    gateway.executor.tools().set_profiles(profiles);
    callers
}

async fn gateway() -> TestGateway {
    let gateway = TestGateway::with_server(Config::default(), SERVER).await;
    for service in services::all(&gateway.executor) {
        gateway.executor.tools().add_shared(service).unwrap();
    }
    until(async || answer(gateway.get("/api/servers/tiny")).await.1["state"] == "ready").await;
    gateway
}

/// What REST has: paths, and the name in each that is asked for.
const PATHS: [(&str, &str); 14] = [
    ("/api/servers", ""),
    ("/api/servers/tiny", "tiny"),
    ("/api/servers/tiny/resources", "tiny"),
    ("/api/servers/tiny/prompts", "tiny"),
    ("/api/tools", ""),
    ("/api/tools/tiny__quxtool", "tiny__quxtool"),
    ("/api/tools/quxtool", "quxtool"),
    ("/api/tool-costs", ""),
    ("/api/stats?by=tool", ""),
    ("/api/calls?limit=1000", ""),
    ("/readyz", ""),
    ("/v1/models", ""),
    ("/openapi.json", ""),
    ("/metrics", ""),
];

/// What MCP has: methods, parameters, and the name in each that is asked for. What is in its own history is no name that may
/// be hidden from a caller.
fn requests() -> Vec<(&'static str, Value, &'static str)> {
    let call = |name: &str, args: Value| json!({"name": name, "arguments": args});
    let complete =
        |reference: Value| json!({"ref": reference, "argument": {"name": "n", "value": "q"}});
    let query = json!({"query": "qux instructions number", "limit": 100});
    vec![
        ("server/discover", json!({}), ""),
        ("tools/list", json!({}), ""),
        ("resources/list", json!({}), ""),
        ("resources/templates/list", json!({}), ""),
        ("resources/read", json!({"uri": "qux:res"}), "qux:res"),
        ("resources/read", json!({"uri": "qux:any/1"}), "qux:any/1"),
        ("prompts/list", json!({}), ""),
        ("prompts/get", json!({"name": "tiny__quxprompt"}), "tiny__quxprompt"),
        (
            "completion/complete",
            complete(json!({"type": "ref/prompt", "name": "tiny__quxprompt"})),
            "tiny__quxprompt",
        ),
        (
            "completion/complete",
            complete(json!({"type": "ref/resource", "uri": "qux:any/{n}"})),
            "qux:any/{n}",
        ),
        ("tools/call", call("tool_search", query), ""),
        ("tools/call", call("server_status", json!({})), ""),
        ("tools/call", call("call_history", json!({"limit": 1000})), ""),
        ("tools/call", call("tin__quxtoo", json!({})), "tin__quxtoo"),
        ("tools/call", call("tool_call", json!({"name": "tin__quxtoo"})), "tin__quxtoo"),
    ]
}

/// Everything that a caller can look at, without the names that it asks for.
async fn observed(gateway: &TestGateway, caller: &UpstreamCaller) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let mut note = |what: String, body: String, name: &str| {
        let told = if name.is_empty() { body } else { body.replace(name, "NAME") };
        seen.push((what, told));
    };
    for (path, name) in PATHS {
        let (_, body) = answer(gateway.get(path).bearer_auth(&caller.token)).await;
        note(path.to_owned(), body.to_string(), name);
    }
    for path in ["/mcp", "/mcp?tools=search"] {
        for (method, params, name) in requests() {
            let request = modern(gateway, path, method, params.clone());
            let (_, body) = answer(with_token(request, Some(&caller.token))).await;
            note(format!("{path} {method} {params}"), body.to_string(), name);
        }
    }
    let asked = requests().into_iter().filter(|(method, ..)| *method != "server/discover");
    let asked: Vec<_> = asked.collect();
    let plain = asked.iter().map(|(method, params, _)| (*method, params.clone())).collect();
    let told = session_with(gateway, "/mcp", Some(&caller.token), plain).await;
    let names = std::iter::once("").chain(asked.iter().map(|(.., name)| *name));
    for ((what, body), name) in told.into_iter().zip(names) {
        note(what, body, name);
    }
    seen
}

// GW-5, FT-5
#[tokio::test]
async fn what_a_server_has_is_seen_only_by_who_may_use_it() {
    let gateway = gateway().await;
    for caller in callers(&gateway) {
        let seen = observed(&gateway, &caller).await;
        for (asked, told) in &seen {
            for text in caller.hidden() {
                assert!(!told.contains(text), "{} read {text} by {asked}: {told}", caller.name);
            }
        }
        for text in caller.visible_texts() {
            assert!(seen.iter().any(|(_, told)| told.contains(text)), "{}: {text}", caller.name);
        }
        // A hidden tool is answered for as one that does not exist.
        if !caller.sees[TOOL] {
            let told = async |name: &str| {
                let path = format!("/api/tools/{name}");
                let (status, body) = answer(gateway.get(&path).bearer_auth(&caller.token)).await;
                (status, body.to_string().replace(name, "NAME"))
            };
            assert_eq!(told("tiny__quxtool").await, told("zzzz__zzzzzzz").await);
        }
    }
    gateway.servers.as_ref().unwrap().close().await;
}

/// The changes that a caller is told of.
struct Changes {
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

impl Changes {
    async fn follow(gateway: &TestGateway, token: Option<&str>) -> Self {
        let lists = ["toolsListChanged", "resourcesListChanged", "promptsListChanged"];
        let wanted: serde_json::Map<_, _> =
            lists.map(|list| (list.to_owned(), json!(true))).into_iter().collect();
        let request =
            modern(gateway, "/mcp", "subscriptions/listen", json!({"notifications": wanted}));
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        let request = request.headers(HeaderMap::from_iter([(ACCEPT, accept)]));
        let mut response = with_token(request, token).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let text = Arc::<Mutex<String>>::default();
        let heard = text.clone();
        let reading = tokio::spawn(async move {
            while let Ok(Some(chunk)) = response.chunk().await {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk));
            }
        });
        let changes = Self { text, reading };
        until(async || changes.text.lock().unwrap().contains("acknowledged")).await;
        changes
    }

    fn count(&self, list: &str) -> usize {
        let method = format!("notifications/{list}/list_changed");
        self.text.lock().unwrap().matches(&method).count()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

// GW-5, FT-5: a change is told to those who may see what changed.
#[tokio::test]
async fn changes_of_a_server_are_told_only_to_who_may_see_them() {
    let gateway = gateway().await;
    let callers = callers(&gateway);
    let owner = Changes::follow(&gateway, None).await;
    let mut streams = Vec::new();
    for caller in &callers {
        streams.push(Changes::follow(&gateway, Some(&caller.token)).await);
    }
    let (status, called) = answer(gateway.call("tiny__quxtool", &json!({}))).await;
    assert_eq!(status, 200, "{called}");
    until(async || ["tools", "resources", "prompts"].iter().all(|list| owner.count(list) > 0))
        .await;
    // Changes close to each other are told as one, so each caller has its own before the next.
    for (caller, stream) in callers.iter().zip(&streams) {
        let seen = ["tools", "resources", "prompts"].into_iter().zip(caller.sees);
        for (list, _) in seen.filter(|(_, sees)| *sees) {
            until(async || stream.count(list) > 0).await;
        }
    }
    // A change that everybody may see comes last.
    let before = owner.count("tools");
    gateway.executor.tools().add(Fake::echoes("echo_last")).unwrap();
    until(async || owner.count("tools") > before).await;
    for (caller, stream) in callers.iter().zip(&streams) {
        let tools = if caller.sees[TOOL] { 2 } else { 1 };
        until(async || stream.count("tools") >= tools).await;
        assert_eq!(stream.count("tools"), tools, "{}", caller.name);
        assert_eq!(stream.count("resources") > 0, caller.sees[RESOURCES], "{}", caller.name);
        assert_eq!(stream.count("prompts") > 0, caller.sees[PROMPTS], "{}", caller.name);
    }
    drop(streams);
    gateway.servers.as_ref().unwrap().close().await;
}
