//! A client of the settings belongs to the issuer that it was first used at: its secret goes to no other one.

use serde_json::json;
use switchboard_oauth::{
    Authorizer, CredentialKey, Error, GrantKind, OauthConfig, Remedy, SignIn, SignInNeeded,
    StoredSignIn, revoke,
};

use crate::{SignInSetup, authorization_server::AuthorizationServer, browse};

const SECRET: &str = "secret-of-the-client";

fn client() -> OauthConfig {
    OauthConfig {
        client_id: Some("by-hand".to_owned()),
        client_secret: Some(SECRET.into()),
        ..OauthConfig::default()
    }
}

async fn world() -> SignInSetup {
    let mut world = SignInSetup::new().await;
    world.config = client();
    let post = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    world.server.with(|known| known.metadata = post);
    world
}

/// Signs a person in with the client of the settings.
async fn sign_in(world: &SignInSetup, key: &CredentialKey) -> Result<StoredSignIn, Error> {
    let prepared = SignIn::prepare(&world.http, &world.store, key.clone(), &world.config, None);
    let pending = prepared.await?.begin().await?;
    let url = pending.url().clone();
    let redirect = url.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into();
    world.server.with(|known| known.clients.insert("by-hand".to_owned(), vec![redirect]));
    let browser = tokio::spawn(browse(url.into()));
    let signed_in = pending.finish().await;
    browser.abort();
    signed_in
}

/// Lets the server name another issuer.
async fn moved(world: &SignInSetup) -> AuthorizationServer {
    let new = AuthorizationServer::start().await;
    let named = json!({"authorization_servers": [new.origin()]});
    world.server.with(|known| known.resource_metadata = named);
    new
}

/// Checks that the secret has gone to the first issuer and to no other.
fn assert_refused(world: &SignInSetup, new: &AuthorizationServer, why: &str) {
    let sent = format!("`{}` to `{}`", world.server.origin(), new.origin());
    assert!(why.contains("the server has moved from") && why.contains(&sent), "{why}");
    assert!(new.with(|known| known.requests.is_empty()));
    let asked = world.server.with(|known| known.requests.clone());
    assert!(asked.iter().any(|(form, _)| form.get("client_secret").is_some_and(|s| s == SECRET)));
}

// AU-1, AU-3: what one caller has used it at holds for the others.
#[tokio::test]
async fn a_second_caller_does_not_take_the_secret_elsewhere() {
    let world = world().await;
    let of_caller = |name: &str| {
        CredentialKey::of_caller("docs", &world.server.resource(), name.to_owned()).unwrap()
    };
    sign_in(&world, &of_caller("ada")).await.unwrap();
    let new = moved(&world).await;
    let error = sign_in(&world, &of_caller("bob")).await.unwrap_err();
    assert_refused(&world, &new, &error.to_string());
}

// AU-1
#[tokio::test]
async fn a_sign_out_does_not_forget_whose_the_secret_is() {
    let mut world = world().await;
    sign_in(&world, &world.key).await.unwrap();
    assert!(revoke(&world.http, &*world.store, &world.key).await.unwrap().is_some());
    assert_eq!(CredentialKey::all(&*world.store).await.unwrap(), [], "it is no sign-in");
    let new = moved(&world).await;
    let error = sign_in(&world, &world.key).await.unwrap_err();
    assert_refused(&world, &new, &error.to_string());
    // Who means it says so.
    world.config.issuer = Some(new.origin());
    assert_eq!(world.prepare().await.unwrap().issuer(), new.origin());
    // Another client is free.
    world.config = OauthConfig { client_id: Some("other".to_owned()), ..client() };
    assert_eq!(world.prepare().await.unwrap().issuer(), new.origin());
}

// AU-3
#[tokio::test]
async fn a_client_without_a_person_stays_with_its_issuer() {
    let world = world().await;
    let first = world.granted_by(GrantKind::Client).missing().await;
    assert!(matches!(first, Remedy::Retry(_)), "{first:?}");
    assert!(revoke(&world.http, &*world.store, &world.key).await.unwrap().is_some());
    let new = moved(&world).await;
    let refused = world.granted_by(GrantKind::Client).missing().await;
    let Remedy::SignIn(SignInNeeded::NoAccess(why)) = refused else { panic!("{refused:?}") };
    assert_refused(&world, &new, &why);
}

// AU-3: of two callers that begin at once one is first.
#[tokio::test]
async fn a_race_of_two_callers_has_one_issuer() {
    let world = world().await;
    let other = AuthorizationServer::start().await;
    let prepare = || async { world.prepare().await.unwrap() };
    let here = prepare().await;
    let named = json!({"authorization_servers": [other.origin()]});
    world.server.with(|known| known.resource_metadata = named);
    // Nothing was sent yet, so either may still be first.
    let there = prepare().await;
    here.by_grant(GrantKind::Client).await.unwrap();
    let error = there.by_grant(GrantKind::Client).await.unwrap_err();
    assert_refused(&world, &other, &error.to_string());
}

// AU-1: a client that an issuer has registered under the id of the settings does not get their secret.
#[tokio::test]
async fn a_refresh_at_another_issuer_gets_no_secret_of_the_settings() {
    let mut world = SignInSetup::new().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    let id = |stored: &mut serde_json::Value| {
        stored["client"]["id"] = "by-hand".into();
        stored["client"]["method"] = "client_secret_post".into();
    };
    world.change_stored(id).await;
    world.config = OauthConfig { issuer: Some("https://login.example".to_owned()), ..client() };
    let before = world.server.with(|known| known.requests.len());
    let authorizer: Authorizer = world.authorizer();
    assert!(authorizer.token().await.is_some(), "the server decides about the token that there is");
    assert_eq!(world.server.with(|known| known.requests.len()), before);
}
