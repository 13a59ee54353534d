//! What the accounts are for: an MCP server whose tool says whose account a call used, and an HTTP API.

use serde_json::{Value, json};

use super::{AccountState, Answer, ReceivedRequest, json_answer};

/// An HTTP API of the same accounts.
pub(super) fn api(asked: &ReceivedRequest, origin: &str, known: &mut AccountState) -> Answer {
    known.api_requests += 1;
    let account = asked.token.as_ref().and_then(|token| known.access.get(token).cloned());
    let Some(account) = account else {
        let metadata = format!("{origin}/.well-known/oauth-protected-resource/api");
        let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
        return ("401 Unauthorized", challenge, String::new());
    };
    match asked.path.as_str() {
        "/api/elsewhere" => {
            let to = known.elsewhere.clone().unwrap_or_default();
            ("307 Temporary Redirect", format!("Location: {to}\r\n"), String::new())
        }
        "/api/notes" => {
            known.notes += 1;
            json_answer("200 OK", &json!({"notes": known.notes}))
        }
        _ => json_answer("200 OK", &json!({"account": account})),
    }
}

/// The scope that a call needs and its account has not granted.
fn missing_scope(message: &Value, account: &str, known: &mut AccountState) -> Option<String> {
    let wanted = known.wanted_scope.filter(|_| message["method"] == "tools/call")?;
    if known.is_insatiable {
        known.count += 1;
        return Some(format!("{wanted}-{}", known.count));
    }
    let has = known.scopes.get(account).is_some_and(|scopes| scopes.contains(wanted));
    (!has).then(|| wanted.to_owned())
}

pub(super) fn resource(asked: &ReceivedRequest, known: &mut AccountState) -> Answer {
    let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    if asked.is_post && asked.token.is_none() {
        known.violations.push(format!("{} came without a token", message["method"]));
    }
    let account = asked.token.as_ref().and_then(|token| known.access.get(token).cloned());
    let Some(account) = account else {
        let challenge = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n".to_owned();
        return ("401 Unauthorized", challenge, String::new());
    };
    if !asked.is_post {
        return ("405 Method Not Allowed", String::new(), String::new());
    }
    if let Some(scope) = missing_scope(&message, &account, known) {
        let challenge =
            format!("WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"{scope}\"\r\n");
        return ("403 Forbidden", challenge, String::new());
    }
    let mut headers = "Content-Type: application/json\r\n".to_owned();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            known.count += 1;
            let session = format!("session-{}", known.count);
            headers += &format!("Mcp-Session-Id: {session}\r\n");
            known.sessions.insert(session, account.clone());
            *known.opened.entry(account).or_default() += 1;
            json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "docs", "version": "1"},
            })
        }
        method => {
            let whose = asked.session.as_ref().and_then(|session| known.sessions.get(session));
            if whose.is_some_and(|whose| *whose != account) {
                known.violations.push(format!("{account} in the session of {whose:?}"));
            }
            match method {
                "tools/list" => json!({"tools": [{
                    "name": "whoami", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
                }]}),
                "tools/call" => {
                    known.calls += 1;
                    json!({"content": [{"type": "text", "text": format!("account {account}")}]})
                }
                _ => return ("202 Accepted", String::new(), String::new()),
            }
        }
    };
    let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    ("200 OK", headers, response.to_string())
}
