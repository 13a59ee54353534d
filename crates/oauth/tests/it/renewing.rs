//! Tokens that end, and who renews them.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use switchboard_oauth::{
    Authorizer, Challenge, CredentialKey, CredentialLock, CredentialStore, Error, Remedy, Secret,
    SignInNeeded, StoreFuture,
};

use crate::{SignInSetup, authorization_server::AuthorizationServer};

async fn refused(authorizer: &Authorizer) -> Remedy {
    let used = authorizer.token().await;
    authorizer.refused(Challenge::default(), used.as_ref()).await
}

// AU-1
#[tokio::test]
async fn a_token_that_has_ended_is_renewed_once_for_all() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    world.server.with(|known| known.lifetime = 3600);
    // Two processes with one vault, and many calls in each.
    let (one, other) = (world.authorizer(), world.authorizer());
    let asked = (0..20).map(|number| if number % 2 == 0 { one.token() } else { other.token() });
    let tokens = join_all(asked).await;
    assert!(tokens.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(world.server.with(|known| known.refreshes), 1);
    let token = tokens[0].as_ref().unwrap().token().clone();
    assert!(world.server.with(|known| known.access_tokens.contains(token.expose())));
}

// AU-1: what lives for half a minute is not renewed at each request.
#[tokio::test]
async fn a_short_lived_token_is_used_until_it_is_about_to_end() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 30);
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    let first = authorizer.token().await;
    for _ in 0..20 {
        assert_eq!(authorizer.token().await, first);
        // A renewal that has begun would have ended.
        authorizer.wait_for_renewal().await;
    }
    assert_eq!(world.server.with(|known| known.refreshes), 0);
}

// AU-1: while the old token is still good, nobody waits for the new one.
#[tokio::test]
async fn a_token_that_is_about_to_end_is_renewed_by_one_task() {
    let world = SignInSetup::new().await;
    // Half a minute of an hour is left.
    world.server.with(|known| known.lifetime = 30);
    world.sign_in().await.unwrap();
    world.change_stored(|stored| stored["obtained_at"] = 0.into()).await;
    world.server.with(|known| known.lifetime = 3600);
    let authorizer = world.authorizer();
    let old = authorizer.token().await;
    let tokens = join_all((0..20).map(|_| authorizer.token())).await;
    assert!(tokens.iter().all(|token| *token == old));
    while authorizer.token().await == old {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.server.with(|known| known.refreshes), 1);
}

// AU-1: a call that is cancelled while its token is renewed loses no refresh token.
#[tokio::test]
async fn a_renewal_outlives_the_call_that_began_it() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    world.server.with(|known| known.lifetime = 3600);
    let authorizer = world.authorizer();
    {
        let mut call = std::pin::pin!(authorizer.token());
        // Polled once: the renewal has begun.
        assert!(futures_util::poll!(&mut call).is_pending());
    }
    while world.server.with(|known| known.refreshes) == 0 {
        tokio::task::yield_now().await;
    }
    let token = authorizer.token().await.unwrap().token().clone();
    assert!(world.server.with(|known| known.access_tokens.contains(token.expose())));
    assert_eq!(world.server.with(|known| known.refreshes), 1);
}

// AU-1: a token that the server refuses in mid-flight is renewed; one that another process has renewed is used.
#[tokio::test]
async fn a_refused_token_heals() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let (one, other) = (world.authorizer(), world.authorizer());
    let stale = other.token().await.unwrap();
    world.server.with(|known| known.access_tokens.clear());
    let Remedy::Retry(renewed) = refused(&one).await else { panic!("not renewed") };
    assert!(world.server.with(|known| known.access_tokens.contains(renewed.token().expose())));
    let Remedy::Retry(shared) = other.refused(Challenge::default(), Some(&stale)).await else {
        panic!("not shared")
    };
    assert_eq!((shared, world.server.with(|known| known.refreshes)), (renewed, 1));
}

// AU-1
#[tokio::test]
async fn without_a_sign_in_a_person_is_needed() {
    let world = SignInSetup::new().await;
    let authorizer = world.authorizer();
    assert_eq!(authorizer.token().await, None);
    assert!(matches!(refused(&authorizer).await, Remedy::SignIn(SignInNeeded::Missing)));
    // A sign-in elsewhere is found by the next request that is refused.
    world.sign_in().await.unwrap();
    assert!(matches!(refused(&authorizer).await, Remedy::Retry(_)));
}

// AU-1: the union of what was granted and what is wanted now.
#[tokio::test]
async fn more_scopes_are_asked_for_by_the_next_sign_in() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    let used = authorizer.token().await;
    let challenge = Challenge {
        error: Some("insufficient_scope".to_owned()),
        scopes: Some(vec!["write".to_owned()]),
        ..Challenge::default()
    };
    let remedy = authorizer.refused(challenge, used.as_ref()).await;
    assert!(matches!(remedy, Remedy::SignIn(SignInNeeded::Scopes(scopes)) if scopes == ["write"]));
    world.sign_in().await.unwrap();
    assert_eq!(
        world.server.with(|known| known.requested_scopes.clone()),
        ["read", "offline_access", "write"]
    );
    let stored = world.stored().await.unwrap();
    assert!(stored.wanted_scopes.is_empty());
}

// AU-1: nothing of a sign-in goes to another issuer.
#[tokio::test]
async fn a_server_that_has_moved_is_signed_in_to_anew() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let new = AuthorizationServer::start().await;
    let issuers = json!({"authorization_servers": [new.origin()]});
    world.server.with(|known| known.resource_metadata = issuers);
    world.server.with(|known| known.access_tokens.clear());
    let authorizer = world.authorizer();
    assert!(matches!(refused(&authorizer).await, Remedy::SignIn(SignInNeeded::Moved)));
    assert_eq!(world.server.with(|known| known.refreshes), 0);
    let sign_in = world.prepare().await.unwrap();
    assert_eq!(sign_in.issuer(), new.origin());
}

// AU-1
#[tokio::test]
async fn a_sign_in_that_cannot_be_renewed_is_told() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    authorizer.token().await;
    // Somebody used the refresh token before us: the authorization server ends the sign-in.
    let stored = world.stored().await.unwrap();
    let refresh = stored.secrets().nth(1).unwrap().expose().to_owned();
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", &refresh),
        ("resource", &world.server.resource()),
    ];
    let endpoint = format!("{}/token", world.server.origin());
    reqwest::Client::new().post(endpoint).form(&form).send().await.unwrap();
    let Remedy::SignIn(SignInNeeded::Ended(reason)) = refused(&authorizer).await else {
        panic!("not told")
    };
    assert!(reason.contains("invalid_grant"), "{reason}");
    assert!(world.server.with(|known| known.access_tokens.is_empty()), "reuse ends the family");
}

// AU-1: and a refresh token that was refused is not sent again.
#[tokio::test]
async fn a_dead_sign_in_is_asked_for_once() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    authorizer.token().await;
    world.server.with(|known| known.end_all());
    assert!(matches!(refused(&authorizer).await, Remedy::SignIn(SignInNeeded::Ended(_))));
    let asked = world.server.with(|known| known.requests.len());
    assert!(matches!(refused(&authorizer).await, Remedy::SignIn(SignInNeeded::Missing)));
    assert_eq!(world.server.with(|known| known.requests.len()), asked);
    // A new sign-in is found, and the same one is nothing new.
    assert!(!authorizer.reload().await);
    world.sign_in().await.unwrap();
    assert!(authorizer.reload().await && !authorizer.reload().await);
}

// AU-1: the new refresh token would be lost with the process.
#[tokio::test]
async fn nothing_is_renewed_once_the_process_is_about_to_exit() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    authorizer.end().await;
    assert!(authorizer.token().await.is_some());
    assert!(matches!(refused(&authorizer).await, Remedy::Unavailable(_)));
    assert_eq!(world.server.with(|known| known.refreshes), 0);
}

// AU-1: calls do not wait for an authorization server that hangs one after the other, and nobody has to sign in for that.
#[tokio::test]
async fn an_authorization_server_that_hangs_is_asked_once_for_all() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    world.server.with(|known| {
        known.requests.clear();
        known.refresh_answer = Some((503, "later"));
        known.hangs.send_replace(true);
    });
    let authorizer = world.authorizer();
    let calls = join_all((0..20).map(|_| refused(&authorizer)));
    let release = async {
        while world.server.with(|known| known.requests.is_empty()) {
            tokio::task::yield_now().await;
        }
        world.server.with(|known| known.hangs.send_replace(false));
    };
    let (remedies, ()) = tokio::join!(calls, release);
    for remedy in remedies {
        assert!(matches!(&remedy, Remedy::Unavailable(why) if why.contains("503")), "{remedy:?}");
    }
    assert_eq!(world.server.with(|known| known.requests.len()), 1);
    // Somebody signs in meanwhile: it is used at once, and renewed.
    world.server.with(|known| known.refresh_answer = None);
    world.sign_in().await.unwrap();
    assert!(authorizer.reload().await && authorizer.token().await.is_some());
    assert_eq!(world.server.with(|known| known.refreshes), 1);
}

// AU-1: only what says no to the sign-in itself asks a person to sign in.
#[tokio::test]
async fn a_failure_of_the_moment_asks_nobody_to_sign_in() {
    let world = SignInSetup::new().await;
    world.sign_in().await.unwrap();
    let page = "<html>We are down for maintenance.</html>";
    for (status, body, is_transient) in [
        (503, "", true),
        (502, page, true),
        (200, page, true),
        (429, "{}", true),
        (500, r#"{"error": "server_error"}"#, true),
        (400, r#"{"error": "temporarily_unavailable"}"#, true),
        (401, r#"{"error": "invalid_client"}"#, false),
        (404, "", false),
        (500, r#"{"error": "invalid_grant"}"#, false),
    ] {
        world.server.with(|known| known.refresh_answer = Some((status, body)));
        let remedy = refused(&world.authorizer()).await;
        match is_transient {
            true => assert!(matches!(remedy, Remedy::Unavailable(_)), "{status}: {remedy:?}"),
            false => assert!(
                matches!(remedy, Remedy::SignIn(SignInNeeded::Ended(_))),
                "{status}: {remedy:?}"
            ),
        }
    }
}

/// A store that nothing can be read from, as a vault whose keyring is locked.
#[derive(Debug)]
struct LockedStore;

impl CredentialStore for LockedStore {
    fn names(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async { Err(Error::store("the keyring is locked")) })
    }

    fn get<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async { Err(Error::store("the keyring is locked")) })
    }

    fn lock<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Box<dyn CredentialLock>> {
        Box::pin(async { Err(Error::store("the keyring is locked")) })
    }
}

// AU-2: that the sign-in cannot be read does not say that there is none.
#[tokio::test]
async fn a_locked_store_asks_nobody_to_sign_in() {
    let world = SignInSetup::new().await;
    let (http, store) = (world.http.clone(), Arc::new(LockedStore));
    let key = CredentialKey::of_caller("docs", &world.server.resource(), "ada".into()).unwrap();
    let authorizer = Authorizer::new(http, store, key, Arc::new(|_| Box::new(())));
    for remedy in [refused(&authorizer).await, authorizer.missing().await] {
        assert!(
            matches!(&remedy, Remedy::Unavailable(why) if why.contains("locked")),
            "{remedy:?}"
        );
    }
}
