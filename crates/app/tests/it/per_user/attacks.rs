//! What others may try with the address of a sign-in.

use serde_json::json;

use super::{Browser, PerUserSetup, bearer};

// AU-3: the victim is lured to the attacker's address, signed in at the gateway or not.
#[test]
fn nobody_signs_in_for_another_caller() {
    let world = PerUserSetup::start();
    let (eve, bob) = (world.token("eve"), world.token("bob"));
    let address = world.address(&eve, "docs__sign_in");
    // Bob's own token, no token (the owner of this machine), and nobody's.
    for token in [bob.as_str(), "", "sb_unknown", "eve"] {
        let mut browser = Browser::default();
        let visit = browser.post(&address, &format!("token={token}"));
        assert_eq!(visit.status, 403, "{visit:?}");
        assert!(visit.body.contains("A call of <b>eve</b>"), "{visit:?}");
    }
    // Signed in at the console as bob.
    let mut browser = Browser::default();
    let origin = format!("http://{}", world.gateway.address);
    browser.headers = format!("X-Switchboard: console\r\nOrigin: {origin}\r\n");
    let session =
        browser.post(&format!("{origin}/api/session"), &json!({"token": bob}).to_string());
    assert_eq!(session.status, 200, "{session:?}");
    browser.headers.clear();
    assert_eq!(browser.get(&address).status, 403);
    assert_eq!(browser.post(&address, "").status, 403);
    // Eve goes through our page herself, and sends Bob on to the authorization server.
    let mut of_eve = Browser::default();
    let begun = of_eve.post(&address, &format!("token={eve}"));
    assert_eq!(begun.status, 303);
    let there = Browser::default().get(&format!("{}&account=bob", begun.location()));
    let back = browser.get(&there.location());
    assert!(back.status == 400 && back.body.contains("no sign-in of this browser"), "{back:?}");
    assert_eq!(world.whoami(&eve), "not_found");
    assert_eq!(world.accounts.known().opened.len(), 0);
    // The attempt of another browser has not used her own up.
    let there = of_eve.get(&format!("{}&account=eve", begun.location()));
    assert_eq!(of_eve.get(&there.location()).status, 200);
    assert_eq!(world.whoami(&eve), "account eve");
}

// AU-3
#[test]
fn an_address_is_good_once_and_a_state_cannot_be_forged() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    let address = world.address(&ada, "docs__sign_in");
    assert_eq!(world.address(&ada, "docs__sign_in"), address, "one at a time");
    let mut browser = Browser::default();
    let begun = browser.post(&address, &format!("token={ada}")).location();
    let back = browser.get(&format!("{begun}&account=ada")).location();
    for (from, to) in [("state=", "state=x"), ("state=", "st="), ("iss=http", "iss=https")] {
        let forged = back.replacen(from, to, 1);
        let visit = browser.get(&forged);
        assert_eq!(visit.status, 400, "{forged}: {visit:?}");
    }
    // A response of another issuer has ended the sign-in: it could be a mix-up.
    assert_eq!(browser.get(&back).status, 400);
    assert_eq!(browser.get(&address).status, 410);
    world.sign_in(&ada, "ada");
    let used = world.accounts.known().opened["ada"];
    for gone in [address.as_str(), &back, &format!("{address}x")] {
        assert!(matches!(browser.get(gone).status, 400 | 410), "{gone}");
        assert!(
            matches!(browser.post(gone, &format!("token={ada}")).status, 400 | 405 | 410),
            "{gone}"
        );
    }
    assert_eq!(world.accounts.known().opened["ada"], used);
}

// AU-3: a page of another site neither frames ours nor sends its form.
#[test]
fn pages_of_other_sites_do_nothing() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    let address = world.address(&ada, "docs__sign_in");
    let mut browser = Browser::default();
    for visit in [
        browser.get(&address),
        browser.post(&address, "token=x"),
        browser.get(&format!("{address}x")),
    ] {
        let head = visit.head.to_lowercase();
        assert!(head.contains("x-frame-options: deny"), "{head}");
        assert!(
            head.contains("frame-ancestors 'none'") && head.contains("default-src 'none'"),
            "{head}"
        );
        assert!(
            head.contains("cache-control: no-store")
                && head.contains("referrer-policy: same-origin"),
            "{head}"
        );
        assert!(!visit.body.contains("<script"), "{visit:?}");
    }
    for headers in [
        "Origin: https://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: http://127.0.0.1:1\r\n",
    ] {
        browser.headers = headers.to_owned();
        let visit = browser.post(&address, &format!("token={ada}"));
        assert_eq!(visit.status, 403, "{headers}: {visit:?}");
    }
    browser.headers =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"
            .to_owned();
    assert_eq!(browser.get(&address).status, 403);
    // A link from elsewhere is fine.
    browser.headers =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
            .to_owned();
    assert_eq!(browser.get(&address).status, 200);
}

// AU-3: whose sign-in is used is decided by the token, not by anything in a call.
#[test]
fn a_call_cannot_name_its_caller() {
    let world = PerUserSetup::start();
    let (ada, eve) = (world.token("ada"), world.token("eve"));
    world.sign_in(&ada, "ada");
    let claims = json!({
        "caller": "ada", "principal": "ada", "user": "ada", "sub": "ada", "token": "ada",
        "_meta": {"caller": "ada", "switchboard/caller": "ada", "principal": ["token", "ada"], "progressToken": "ada"},
    });
    let headers = format!(
        "{}X-Switchboard-Caller: ada\r\nX-Switchboard-Client: ada\r\nX-Forwarded-User: ada\r\nMcp-Session-Id: ada\r\n",
        bearer(&eve)
    );
    let called =
        world.gateway.ask("POST", "/api/tools/docs__whoami/call", &headers, &claims.to_string()).1;
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    let mut params = claims.clone();
    params["name"] = "docs__whoami".into();
    params["arguments"] = claims;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = format!(
        "{headers}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: docs__whoami\r\n"
    );
    let (_, called) = world.gateway.ask("POST", "/mcp", &headers, &message.to_string());
    let text = called.to_string();
    assert!(text.contains("/sign-in/") && !text.contains("account ada"), "{called}");
    // A token of the same name as a revoked one is somebody else's.
    assert!(
        world
            .place
            .run(&["token", "revoke", "ada"])
            .stderr
            .contains("sign-ins to servers are revoked: 1")
    );
    assert!(world.accounts.known().revoked > 0);
    let other_ada = world.token("ada");
    assert_eq!(world.whoami(&other_ada), "unavailable");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}
