//! A server's sign-in, for people and programs.

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_apis::Api;
use switchboard_mcp_client::{Server, SignInStatus};
use switchboard_toolcall::Principal;

/// `signed in as ada@example.com at https://auth.example, scopes read write, until 2026-11-18T03:00:00Z, then renewed`
pub(super) fn sentence(status: &SignInStatus) -> String {
    of_json(&to_json(status)).unwrap_or_default()
}

/// What is shown of a server's sign-in, as the gateway's REST does.
pub(super) async fn of(server: &Server) -> Option<Value> {
    if server.is_per_user() {
        let mut own = match server.sign_in_of(&Principal::Owner).await {
            Some(status) => to_json(&status),
            None => json!({"state": "needed", "reason": "each caller signs in itself"}),
        };
        own["auth"] = server.config().auth.name().into();
        own["callers"] = server.signed_in_callers().await.len().into();
        return Some(own);
    }
    match (server.needs_sign_in(), server.signed_in()) {
        (Some(needed), _) => Some(json!({"state": "needed", "reason": needed.to_string()})),
        (None, Some(status)) => Some(to_json(&status)),
        (None, None) => None,
    }
}

/// What is shown of the sign-in to an API, likewise.
pub(super) async fn of_api(api: &Api) -> Option<Value> {
    let account = api.account(&Principal::Owner).await?;
    let mut own = match (account.status, account.needed) {
        (_, Some(needed)) => json!({"state": "needed", "reason": needed.to_string()}),
        (Some(status), None) => to_json(&status),
        (None, None) => json!({"state": "needed", "reason": "nobody has signed in"}),
    };
    own["auth"] = api.config().auth.name().into();
    if let Some(callers) = account.callers {
        own["callers"] = callers.into();
    }
    Some(own)
}

/// The same in words; `None` if nobody is signed in.
pub(super) fn of_json(shown: &Value) -> Option<String> {
    let how = match shown["auth"] == "exchange" {
        true => "exchanges callers' JWTs",
        false => "signs in per user",
    };
    let callers = shown["callers"].as_u64().map(|callers| match callers {
        1 => format!("{how}, 1 caller is signed in"),
        many => format!("{how}, {many} callers are signed in"),
    });
    let own = (shown["state"] == "signed_in").then(|| own(shown)).flatten();
    match (callers, own) {
        (Some(callers), Some(own)) => Some(format!("{callers}; you are {own}")),
        (callers, own) => callers.or(own),
    }
}

/// How to sign in to the server or API with this name; `None` if nobody needs to, or can.
pub(super) fn hint(shown: &Value, name: &str) -> Option<String> {
    let is_needed = shown["state"] == "needed" && shown["auth"] != "exchange";
    is_needed.then(|| format!("sign in with `switchboard login {name}`"))
}

fn own(shown: &Value) -> Option<String> {
    let scopes: Vec<_> = shown["scopes"].as_array()?.iter().filter_map(Value::as_str).collect();
    let scopes =
        if scopes.is_empty() { String::new() } else { format!(", scopes {}", scopes.join(" ")) };
    let until = shown["until"].as_str().map(|until| format!(", until {until}")).unwrap_or_default();
    let then = if shown["renews"] == true { ", then renewed" } else { "" };
    let account = shown["account"].as_str();
    let account = account.map(|account| format!(" as {account}")).unwrap_or_default();
    Some(format!("signed in{account} at {}{scopes}{until}{then}", shown["issuer"].as_str()?))
}

fn to_json(status: &SignInStatus) -> Value {
    let until = status.until.and_then(|until| Timestamp::try_from(until).ok());
    json!({
        "state": "signed_in",
        "issuer": status.issuer,
        "account": status.account,
        "scopes": status.scopes,
        "until": until.map(|until| format!("{until:.0}")),
        "renews": status.renews,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1
    #[test]
    fn people_read_who_is_signed_in() {
        let mut status = SignInStatus {
            issuer: "https://auth.example".to_owned(),
            account: Some("ada@example.com".to_owned()),
            scopes: vec!["read".to_owned()],
            until: None,
            renews: true,
        };
        let whole =
            "signed in as ada@example.com at https://auth.example, scopes read, then renewed";
        assert_eq!(sentence(&status), whole);
        status.account = None;
        assert_eq!(sentence(&status), whole.replace(" as ada@example.com", ""));
    }
}
