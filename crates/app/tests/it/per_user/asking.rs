//! Callers that can be asked: the call waits until they have signed in.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{Browser, PerUserSetup, bearer};

/// Sends a message to `/mcp` and leaves its response to come.
pub(super) fn post(world: &PerUserSetup, headers: &str, message: &Value) -> BufReader<TcpStream> {
    let (host, body) = (&world.gateway.address, message.to_string());
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}\r\n{body}",
        body.len()
    )
    .unwrap();
    BufReader::new(stream)
}

/// Reads the next JSON message, of a body or of a stream of events.
pub(super) fn next(stream: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has ended");
        let text = line.trim().strip_prefix("data:").unwrap_or(line.trim()).trim();
        if let Ok(message @ Value::Object(_)) = serde_json::from_str(text) {
            return message;
        }
    }
}

fn session_of(stream: &mut BufReader<TcpStream>) -> String {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "no session");
        if let Some(id) = line.to_lowercase().strip_prefix("mcp-session-id:") {
            // The id is case-sensitive.
            return line[line.len() - id.len()..].trim().to_owned();
        }
    }
}

/// The headers of a call by a client of 2026-07-28.
pub(super) fn modern_headers(token: &str, tool: &str) -> String {
    format!(
        "{}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n",
        bearer(token)
    )
}

/// What such a client sends, if it can show a page.
pub(super) fn modern_params(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
    }})
}

pub(super) fn call(id: u32, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Opens a session, and returns the headers of its messages.
fn open(world: &PerUserSetup, token: &str, capabilities: Value) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"},
    }});
    let mut stream = post(world, &bearer(token), &initialize);
    let session = session_of(&mut stream);
    next(&mut stream);
    format!("{}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n", bearer(token))
}

/// Answers the question that the client was asked.
fn answer(world: &PerUserSetup, headers: &str, asked: &Value, action: &str) {
    let message = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}});
    let mut taken = String::new();
    post(world, headers, &message).read_line(&mut taken).unwrap();
    assert!(taken.contains("202"), "{taken}");
}

/// Accepts to go to the page that the client is asked to show, and signs in there.
fn accept(world: &PerUserSetup, headers: &str, asked: &Value, token: &str, account: &str) {
    assert_eq!(asked["params"]["mode"], "url", "{asked}");
    answer(world, headers, asked, "accept");
    let page = asked["params"]["url"].as_str().unwrap();
    let visit = Browser::default().sign_in(page, token, account);
    assert!(visit.status == 200 && visit.body.contains("the call goes on"), "{visit:?}");
}

// AU-3: in a session, by elicitation in URL mode.
#[test]
fn a_legacy_client_is_shown_the_page_and_the_call_goes_on() {
    let world = PerUserSetup::start();
    let (ada, bob) = (world.token("ada"), world.token("bob"));
    world.sign_in(&bob, "bob");
    // A client that takes forms only cannot be shown a page.
    let headers = open(&world, &ada, json!({"elicitation": {}}));
    let told = next(&mut post(
        &world,
        &headers,
        &call(2, json!({"name": "docs__whoami", "arguments": {}})),
    ));
    assert!(told.to_string().contains("/sign-in/"), "{told}");

    let headers = open(&world, &ada, json!({"elicitation": {"url": {}}}));
    let ask =
        |id| post(&world, &headers, &call(id, json!({"name": "docs__whoami", "arguments": {}})));
    let mut declined = ask(2);
    let asked = next(&mut declined);
    assert_eq!(
        (&asked["method"], &asked["params"]["mode"]),
        (&json!("elicitation/create"), &json!("url")),
        "{asked}"
    );
    assert_eq!(asked["params"]["url"].as_str().unwrap().split('/').nth(3), Some("sign-in"));
    answer(&world, &headers, &asked, "decline");
    let told = next(&mut declined);
    assert!(
        told["result"]["isError"] == true && told.to_string().contains("did not want to sign in"),
        "{told}"
    );

    let mut waiting = ask(3);
    let asked = next(&mut waiting);
    accept(&world, &headers, &asked, &ada, "ada");
    let told = next(&mut waiting);
    assert_eq!(told["result"]["content"][0]["text"], "account ada", "{told}");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

// AU-3: without a session, as an input request.
#[test]
fn a_modern_client_gets_an_input_request_and_the_call_goes_on() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    let headers = modern_headers(&ada, "docs__sign_in");
    let params = |more: Value| {
        let mut params = modern_params("docs__sign_in");
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let first = next(&mut post(&world, &headers, &call(1, params(json!({})))));
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let request = &result["inputRequests"]["sign_in"];
    assert_eq!(
        (&request["method"], &request["params"]["mode"]),
        (&json!("elicitation/create"), &json!("url"))
    );
    let address = request["params"]["url"].as_str().unwrap().to_owned();
    // The client says that its user goes there; the call waits until that is done.
    let accepted = json!({"requestState": result["requestState"], "inputResponses": {"sign_in": {"action": "accept"}}});
    let mut waiting = post(&world, &headers, &call(2, params(accepted)));
    assert_eq!(Browser::default().sign_in(&address, &ada, "ada").status, 200);
    let told = next(&mut waiting);
    assert!(
        told["result"]["isError"] != true
            && told.to_string().contains("You are signed in to 'docs'"),
        "{told}"
    );
    assert_eq!(world.whoami(&ada), "account ada");
}

// AU-1, AU-3: a call that needs more scopes waits for a wider sign-in, and is begun once.
#[test]
fn a_call_that_lacks_scopes_goes_on_after_a_wider_sign_in() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    world.sign_in(&ada, "ada");
    assert_eq!(world.whoami(&ada), "account ada");
    let before = world.accounts.known().calls;
    world.accounts.known().wanted_scope = Some("docs.write");

    // Who cannot be asked gets the address, and why.
    let called = world.call(&ada, "docs__whoami");
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    assert!(called.to_string().contains("more scopes: docs.write"), "{called}");
    assert!(PerUserSetup::address_in(&called).contains("/sign-in/"));
    assert_eq!(world.accounts.known().calls, before, "it was not begun");

    let headers = open(&world, &ada, json!({"elicitation": {"url": {}}}));
    let params = json!({"name": "docs__whoami", "arguments": {}});
    let mut waiting = post(&world, &headers, &call(2, params));
    let asked = next(&mut waiting);
    accept(&world, &headers, &asked, &ada, "ada");
    let told = next(&mut waiting);
    assert_eq!(told["result"]["content"][0]["text"], "account ada", "{told}");
    assert_eq!(world.accounts.known().calls, before + 1);
    assert!(world.accounts.known().scopes["ada"].contains("docs.write"));
    // From now on nobody is asked.
    assert_eq!(world.whoami(&ada), "account ada");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

// AU-1: a server that wants yet another scope after each sign-in does not keep its callers in a circle.
#[test]
fn a_server_that_always_wants_more_scopes_fails() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    world.sign_in(&ada, "ada");
    let before = world.accounts.known().calls;
    world.accounts.known().wanted_scope = Some("docs");
    world.accounts.known().is_insatiable = true;
    let headers = open(&world, &ada, json!({"elicitation": {"url": {}}}));
    let params = json!({"name": "docs__whoami", "arguments": {}});
    let mut waiting = post(&world, &headers, &call(2, params));
    for _ in 0..2 {
        let asked = next(&mut waiting);
        accept(&world, &headers, &asked, &ada, "ada");
    }
    let told = next(&mut waiting);
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert!(told.to_string().contains("more scopes"), "{told}");
    assert_eq!(world.accounts.known().calls, before, "it was never begun");
}
