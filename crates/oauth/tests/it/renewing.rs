//! Tokens that end, and who renews them.

use serde_json::json;
use switchboard_oauth::{Authorizer, Challenge, Credential, Remedy, SignInNeeded};

use crate::{World, authorization_server::AuthorizationServer};

async fn refused(authorizer: &Authorizer) -> Remedy {
    let used = authorizer.token().await;
    authorizer.refused(Challenge::default(), used.as_ref()).await
}

// AU-1
#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_once_for_all() {
    let world = World::new().await;
    world.server.with(|known| known.lifetime = 30);
    world.sign_in().await.unwrap();
    world.server.with(|known| known.lifetime = 3600);
    // Two processes with one vault, and many calls in each.
    let (one, other) = (world.authorizer(), world.authorizer());
    let asked = (0..20).map(|number| if number % 2 == 0 { one.token() } else { other.token() });
    let mut tokens = Vec::new();
    let mut tasks: Vec<_> = asked.map(Box::pin).collect();
    let mut joined = futures(&mut tasks).await;
    tokens.append(&mut joined);
    assert!(tokens.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(world.server.with(|known| known.refreshes), 1);
    assert!(
        world
            .server
            .with(|known| known.access_tokens.contains(tokens[0].as_ref().unwrap().expose()))
    );
}

/// Polls all of them side by side until each is done.
async fn futures<T, F: Future<Output = T> + Unpin>(tasks: &mut [F]) -> Vec<T> {
    let mut done: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (task, done) in tasks.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = std::pin::Pin::new(task).poll(cx)
            {
                *done = Some(value);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

// AU-1: a token that the server refuses in mid-flight is renewed; one that another process has renewed is used.
#[tokio::test]
async fn a_refused_token_heals() {
    let world = World::new().await;
    world.sign_in().await.unwrap();
    let (one, other) = (world.authorizer(), world.authorizer());
    let stale = other.token().await.unwrap();
    world.server.with(|known| known.access_tokens.clear());
    let Remedy::Retry(renewed) = refused(&one).await else { panic!("not renewed") };
    assert!(world.server.with(|known| known.access_tokens.contains(renewed.expose())));
    let Remedy::Retry(shared) = other.refused(Challenge::default(), Some(&stale)).await else {
        panic!("not shared")
    };
    assert_eq!((shared, world.server.with(|known| known.refreshes)), (renewed, 1));
}

// AU-1
#[tokio::test]
async fn without_a_sign_in_a_person_is_needed() {
    let world = World::new().await;
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
    let world = World::new().await;
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
    let stored = Credential::load(&world.vault, &world.key).unwrap().unwrap();
    assert!(stored.wanted_scopes.is_empty());
}

// AU-1: nothing of a sign-in goes to another issuer.
#[tokio::test]
async fn a_server_that_has_moved_is_signed_in_to_anew() {
    let world = World::new().await;
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
    let world = World::new().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    authorizer.token().await;
    // Somebody used the refresh token before us: the authorization server ends the sign-in.
    let stored = Credential::load(&world.vault, &world.key).unwrap().unwrap();
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
