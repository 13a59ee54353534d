//! What must be refused.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_oauth::{Authorizer, Challenge, CredentialKey, Error, OauthConfig, revoke};

use crate::{SignInSetup, authorization_server::AuthorizationServer, browse, redirect_of};

async fn no_sign_in(world: &SignInSetup) -> Error {
    let error = world.sign_in().await.unwrap_err();
    assert_eq!(world.stored().await, None);
    error
}

// AU-1: a code of another sign-in, which an attacker makes the browser bring.
#[tokio::test]
async fn a_state_that_is_not_ours_is_refused() {
    let world = SignInSetup::new().await;
    let (victim, attacker) = (world.begin().await, world.begin().await);
    let stolen = redirect_of(attacker.url().as_str()).await;
    let stolen = url::Url::parse(&stolen).unwrap();
    let redirect =
        victim.url().query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
    let injected = format!("{redirect}?{}", stolen.query().unwrap());
    let page = tokio::spawn(browse(injected));
    let error = victim.finish().await.unwrap_err();
    assert!(error.to_string().contains("state belongs to another sign-in"), "{error}");
    assert!(page.await.unwrap().contains("Not signed in"));
    assert_eq!(world.stored().await, None);
}

// AU-1: what comes without a state, or to another path, ends nothing.
#[tokio::test]
async fn other_requests_do_not_end_a_sign_in() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let redirect = pending
        .url()
        .query_pairs()
        .find(|(name, _)| name == "redirect_uri")
        .unwrap()
        .1
        .into_owned();
    let url = pending.url().to_string();
    let finishing = tokio::spawn(pending.finish());
    let origin = url::Url::parse(&redirect).unwrap();
    for other in ["/favicon.ico", "/?code=x&state=y", "//evil.example/"] {
        let address = format!("{}{other}", origin.origin().ascii_serialization());
        assert_eq!(reqwest::get(address).await.unwrap().status(), 404, "{other}");
    }
    assert_eq!(reqwest::get(format!("{redirect}?code=x")).await.unwrap().status(), 404);
    browse(url).await;
    assert!(finishing.await.unwrap().is_ok());
}

// AU-1: a code is good once.
#[tokio::test]
async fn a_code_that_was_used_is_refused() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let ended_on = redirect_of(pending.url().as_str()).await;
    let code = url::Url::parse(&ended_on).unwrap();
    let code = code.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    pending.finish_with(&ended_on).await.unwrap();
    // A second sign-in that brings the first one's code: used up, and bound to another verifier.
    world.server.with(|known| known.redirect = json!({"code": code}));
    let error = world.sign_in().await.unwrap_err();
    assert!(error.to_string().contains("invalid_grant"), "{error}");
}

// AU-1, RFC 9207: mix-up.
#[tokio::test]
async fn a_response_of_another_issuer_is_refused() {
    for (redirect, advertised, is_refused) in [
        (json!({"iss": "https://evil.example"}), true, true),
        (json!({"iss": "https://evil.example"}), false, true),
        (json!({"iss": null}), true, true),
        (json!({"iss": null}), false, false),
        (json!({}), false, false),
    ] {
        let world = SignInSetup::new().await;
        world.server.with(|known| {
            known.metadata = json!({"authorization_response_iss_parameter_supported": advertised});
            known.redirect = redirect.clone();
        });
        match is_refused {
            true => assert!(no_sign_in(&world).await.is_refusal(), "{redirect}"),
            false => assert!(world.sign_in().await.is_ok(), "{redirect}"),
        }
    }
    let world = SignInSetup::new().await;
    let normalised = format!("{}/", world.server.origin());
    world.server.with(|known| known.redirect = json!({"iss": normalised}));
    assert!(no_sign_in(&world).await.is_refusal());
}

// AU-1: metadata that would send codes and tokens elsewhere, or weakens the sign-in.
#[tokio::test]
async fn metadata_that_does_not_fit_is_refused() {
    let metadata: [(Value, &str); 6] = [
        (json!({"issuer": "https://evil.example"}), "names another issuer, `https://evil.example`"),
        (json!({"code_challenge_methods_supported": null}), "does not support PKCE with S256"),
        (json!({"code_challenge_methods_supported": ["plain"]}), "does not support PKCE with S256"),
        (
            json!({"token_endpoint": "http://evil.example/token"}),
            "neither https nor on this machine",
        ),
        (
            json!({"authorization_endpoint": "javascript:alert(1)"}),
            "neither https nor on this machine",
        ),
        (json!({"registration_endpoint": null}), "registers no clients by itself"),
    ];
    for (changed, text) in metadata {
        let world = SignInSetup::new().await;
        world.server.with(|known| known.metadata = changed.clone());
        let error = no_sign_in(&world).await;
        assert!(error.to_string().contains(text), "{changed}: {error}");
    }
    let resource = [
        (json!({"resource": "https://other.example/mcp"}), "not about the server's address"),
        (
            json!({"authorization_servers": ["http://evil.example"]}),
            "neither https nor on this machine",
        ),
    ];
    for (changed, text) in resource {
        let world = SignInSetup::new().await;
        world.server.with(|known| known.resource_metadata = changed.clone());
        let error = no_sign_in(&world).await;
        assert!(error.to_string().contains(text), "{changed}: {error}");
    }
}

// AU-1: the settings name the only issuer; a client that was registered by hand stays with its own.
#[tokio::test]
async fn a_configured_client_goes_to_no_other_issuer() {
    let mut world = SignInSetup::new().await;
    world.config =
        OauthConfig { issuer: Some("https://auth.example".to_owned()), ..OauthConfig::default() };
    let error = no_sign_in(&world).await;
    assert!(
        error.to_string().contains("`issuer` in its settings is `https://auth.example`"),
        "{error}"
    );

    world.config = OauthConfig::default();
    world.sign_in().await.unwrap();
    let new = AuthorizationServer::start().await;
    world
        .server
        .with(|known| known.resource_metadata = json!({"authorization_servers": [new.origin()]}));
    world.config = OauthConfig {
        client_id: Some("mine".to_owned()),
        client_secret: Some("hunter2-hunter2".into()),
        ..OauthConfig::default()
    };
    let error = world.prepare().await.unwrap_err();
    assert!(error.to_string().contains("the server has moved from"), "{error}");
}

// AU-1
#[tokio::test]
async fn a_person_who_refuses_is_not_signed_in() {
    let world = SignInSetup::new().await;
    world.server.with(|known| {
        known.redirect = json!({"code": null, "error": "access_denied", "error_description": "no"})
    });
    let error = no_sign_in(&world).await;
    assert_eq!(error.to_string(), "the authorization server refused: access_denied (no)");
}

// AU-1: redirect confusion. Only the exact path, with each parameter once, is a response.
#[tokio::test]
async fn a_response_that_could_be_read_in_two_ways_is_none() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let ended_on = redirect_of(pending.url().as_str()).await;
    let (path, query) = ended_on.split_once('?').unwrap();
    let state = query.split('&').find(|pair| pair.starts_with("state=")).unwrap().to_owned();
    let url = pending.url().to_string();
    let finishing = tokio::spawn(pending.finish());
    for other in [
        format!("{path}/?{query}"),
        format!("{path}%2f?{query}"),
        format!("{path}x?{query}"),
        format!("{path}?{query}&{state}"),
        format!("{path}?{state}&{query}"),
    ] {
        assert_eq!(reqwest::get(&other).await.unwrap().status(), 404, "{other}");
    }
    browse(url).await;
    assert!(finishing.await.unwrap().is_ok());
}

// AU-1: Ctrl-C drops the sign-in.
#[tokio::test]
async fn a_sign_in_that_is_dropped_leaves_nothing_open() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let ended_on = redirect_of(pending.url().as_str()).await;
    drop(pending);
    assert!(reqwest::get(ended_on).await.unwrap_err().is_connect());
    assert_eq!(world.stored().await, None);
}

// AU-1: tokens for one server are never asked for in the name of another on the same host.
#[tokio::test]
async fn a_resource_of_a_neighbour_is_refused() {
    for neighbour in ["/mcp2", "/mcp/other", "/other"] {
        let world = SignInSetup::new().await;
        let resource = format!("{}{neighbour}", world.server.origin());
        world.server.with(|known| known.resource_metadata = json!({"resource": resource}));
        let error = no_sign_in(&world).await;
        assert!(error.to_string().contains("not about the server's address"), "{error}");
        assert!(world.server.with(|known| known.requests.is_empty()));
    }
}

// AU-1: a server that asks for ever more scopes fills no vault.
#[tokio::test]
async fn scopes_that_a_server_asks_for_are_limited() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    for round in 0..3 {
        let used = authorizer.token().await;
        let scopes = (0..50).map(|number| format!("scope-{round}-{number}"));
        let scopes = scopes.chain(["x".repeat(10_000)]).collect();
        let error = Some("insufficient_scope".to_owned());
        let challenge = Challenge { error, scopes: Some(scopes), ..Challenge::default() };
        authorizer.refused(challenge, used.as_ref()).await;
    }
    let stored = world.stored().await.unwrap();
    assert_eq!(stored.wanted_scopes.len(), 64);
    assert!(stored.wanted_scopes.iter().all(|scope| scope.len() < 20));
}

// AU-1: a server of the public internet has named endpoints in our own network, which only a refresh and a sign-out use. What
// the sign-in found out about the server holds even if its name is in a private network now.
#[tokio::test]
async fn endpoints_of_a_stored_sign_in_reach_no_private_network() {
    let public = "https://1.1.1.1/mcp";
    for (server, noted) in
        [(public, None), (public, Some(true)), ("https://127.0.0.1/x", Some(true))]
    {
        let world = SignInSetup::new().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = |path: &str| format!("https://{}/{path}", listener.local_addr().unwrap());
        let stored = json!({
            "issuer": "https://login.example", "scopes": [], "expires_at": 1,
            "access_token": "a-token", "refresh_token": "another", "client": {"id": "ours", "method": "none"},
            "token_endpoint": at("token"), "revocation_endpoint": at("revoke"), "is_public_only": noted,
            "resource": server,
        });
        let key = CredentialKey::shared("docs", server).unwrap();
        let lock = world.store.lock(&key.name()).await.unwrap();
        lock.set(stored.to_string().into()).await.unwrap();
        drop(lock);
        let (http, store) = (world.http.clone(), world.store.clone());
        let authorizer = Authorizer::new(http, store, key.clone(), Arc::new(|_| Box::new(())));
        assert!(authorizer.token().await.is_some(), "it is there, and cannot be renewed");
        let (_, is_revoked) = revoke(&world.http, &*world.store, &key).await.unwrap().unwrap();
        assert!(!is_revoked, "{server}");
        let nobody = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(nobody.is_err(), "somebody has connected: {server}, {noted:?}");
    }
}
