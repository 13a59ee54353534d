//! `serve` with a server, a model and a tool that are skipped (MC-8), and what it says of a config that it refuses.

use std::fs;

use serde_json::{Value, json};

use crate::{
    fixture::{misbehaving, wait_until},
    serve::Serving,
    test_folder::TestFolder,
};

const REASON: &str = "the environment variable DOCS_TOKEN is not set";

fn config(token: &str) -> String {
    format!(
        "[servers.docs]\ncommand = {:?}\nenv = {{ TOKEN = \"{token}\" }}\n\
         [models.cloud]\nprovider = \"openai\"\nmodel = \"m\"\napi_key = \"${{CLOUD_KEY}}\"\n\
         [[tools]]\nname = \"locked\"\ndescription = \"${{DOCS_TOKEN}}\"\n\
         implementation = {{ type = \"builtin\", handler = \"echo\" }}\n",
        misbehaving()
    )
}

fn state_of_docs(serving: &Serving) -> Value {
    serving.ask("GET", "/api/servers/docs", "", "").1["state"].clone()
}

#[test]
fn every_entrance_says_what_is_skipped_and_why() {
    let place = TestFolder::with_config(&config("${DOCS_TOKEN}"));
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (_, server) = serving.ask("GET", "/api/servers/docs", "", "");
    assert_eq!(
        (&server["state"], &server["error"]),
        (&"skipped".into(), &REASON.into()),
        "{server}"
    );
    for act in ["start", "stop", "reconnect"] {
        let (status, said) = serving.ask("POST", &format!("/api/servers/docs/{act}"), "", "");
        assert_eq!(status, 409, "{said}");
        assert!(said.to_string().contains(REASON), "{said}");
    }
    for (tool, who) in [("docs__echo", "Server 'docs'"), ("locked", "Tool 'locked'")] {
        let says = format!("{who} is skipped: {REASON}");
        let (status, said) = serving.ask("POST", &format!("/api/tools/{tool}/call"), "", "{}");
        assert_eq!((status, &said["error"]), (503, &says.as_str().into()), "{said}");
        let params = json!({"name": tool, "arguments": {}});
        let (_, said) = mcp(&serving, "tools/call", &params);
        assert_eq!(said["result"]["isError"], true, "{said}");
        assert_eq!(said["result"]["content"][0]["text"], says.as_str(), "{said}");
    }
    let (_, status) = serving.ask("POST", "/api/tools/server_status/call", "", "{}");
    let docs = &status["result"]["servers"][0];
    assert_eq!((&docs["state"], &docs["error"]), (&"skipped".into(), &REASON.into()), "{status}");
    let (_, listed) = mcp(&serving, "tools/list", &json!({}));
    assert!(listed.to_string().contains("math_eval") && !listed.to_string().contains("locked"));
    let (_, models) = serving.ask("GET", "/v1/models", "", "");
    assert_eq!(models["data"], json!([]), "{models}");
    let question = json!({"model": "cloud", "messages": [{"role": "user", "content": "hi"}]});
    let (status, said) = serving.ask("POST", "/v1/chat/completions", "", &question.to_string());
    let says = "Model 'cloud' is skipped: the environment variable CLOUD_KEY is not set";
    assert_eq!((status, &said["error"]["message"]), (503, &says.into()), "{said}");
    assert_eq!(serving.ask("GET", "/readyz", "", "").1["status"], "degraded");
}

fn mcp(serving: &Serving, method: &str, params: &Value) -> (u16, Value) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = params.clone();
    params["_meta"] = meta;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
    if let Some(name) = params["name"].as_str() {
        headers.push_str(&format!("Mcp-Name: {name}\r\n"));
    }
    serving.ask("POST", "/mcp", &headers, &request.to_string())
}

#[test]
fn a_changed_config_skips_and_uses_servers() {
    let place = TestFolder::with_config(&config("${DOCS_TOKEN}"));
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    assert_eq!(state_of_docs(&serving), "skipped");
    let file = place.path().join("switchboard.toml");
    fs::write(&file, config("${DOCS_TOKEN:-none}")).unwrap();
    serving.signal("-HUP");
    wait_until("the server is used", || state_of_docs(&serving) == "ready");
    assert_eq!(serving.ask("POST", "/api/tools/docs__echo/call", "", "{}").0, 200);
    fs::write(&file, config("${DOCS_TOKEN}${OTHER}")).unwrap();
    serving.signal("-HUP");
    wait_until("the server is skipped", || state_of_docs(&serving) == "skipped");
    assert_eq!(serving.ask("POST", "/api/tools/docs__echo/call", "", "{}").0, 503);
    let log = || fs::read_to_string(place.path().join("log")).unwrap();
    assert!(
        log().contains("WARN") && log().contains("Server 'docs' is skipped: the env"),
        "{}",
        log()
    );
    // What is refused is told in lines that people can read.
    for wrong in ["a = \n", "[mcp]\nretry_attempts = 0\n[servers.x]\n"] {
        let before = log().matches("the config stays as it was").count();
        fs::write(&file, wrong).unwrap();
        serving.signal("-HUP");
        let told = || log().matches("the config stays as it was").count() > before;
        wait_until("the config is refused", told);
    }
    wait_until("both problems are told", || log().contains("it has neither `command`"));
    assert!(!log().contains("\\n"), "{}", log());
}
