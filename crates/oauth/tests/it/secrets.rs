//! The observer of secrets, which redaction uses, gets each secret of a sign-in and the end of its use.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::json;
use switchboard_oauth::{Challenge, GrantKind, IdpConfig, OauthConfig, Secret, SecretObserver};

use crate::{SignInSetup, authorization_server::AuthorizationServer};

/// The secrets that were told, with how many use each.
#[derive(Clone, Default)]
struct RecordedSecrets(Arc<Mutex<BTreeMap<String, usize>>>);

/// One use of a secret.
struct Use(RecordedSecrets, String);

impl RecordedSecrets {
    fn observer(&self) -> SecretObserver {
        let told = self.clone();
        Arc::new(move |secret| {
            let secret = secret.expose().to_owned();
            *told.0.lock().unwrap().entry(secret.clone()).or_default() += 1;
            Box::new(Use(told.clone(), secret))
        })
    }

    /// How many use each secret that begins so.
    fn users(&self, start: &str) -> Vec<usize> {
        let told = self.0.lock().unwrap();
        told.iter().filter(|(value, _)| value.starts_with(start)).map(|(_, users)| *users).collect()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

async fn world() -> (SignInSetup, RecordedSecrets) {
    let (mut world, told) = (SignInSetup::new().await, RecordedSecrets::default());
    world.observe = told.observer();
    world.http = world.http.clone().observed_by(told.observer());
    (world, told)
}

// AU-2: an authorization server may repeat in an error whatever was sent to it.
#[tokio::test]
async fn every_secret_that_is_sent_is_told() {
    let (world, told) = world().await;
    world.server.with(|known| {
        known.metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
        known.registration = json!({
            "client_secret": "registered-secret-value", "token_endpoint_auth_method": "client_secret_post",
        });
    });
    world.sign_in().await.unwrap();
    let verifier = world.server.with(|known| known.requests[0].0["code_verifier"].clone());
    for sent in ["code-secret-value", "registered-secret-value", &verifier] {
        assert_eq!(told.users(sent), [0], "{sent}");
    }
    world.prepare().await.unwrap().with_device(|_| {}).await.unwrap();
    assert_eq!(told.users("device-secret-value"), [0]);
}

// AU-2
#[tokio::test]
async fn every_secret_of_an_exchange_is_told() {
    let (mut world, told) = world().await;
    let idp = AuthorizationServer::start().await;
    let settings = IdpConfig {
        issuer: idp.origin(),
        client_id: Some("robot-at-idp".to_owned()),
        client_secret: Some("provider-secret-value".into()),
        ..IdpConfig::default()
    };
    let client_secret = Some("configured-secret-value".into());
    let client_id = Some("robot".to_owned());
    world.config =
        OauthConfig { client_id, client_secret, idp: Some(settings), ..OauthConfig::default() };
    let authorizer = world.granted_by(GrantKind::Exchange);
    authorizer.set_subject_token(&Secret::from("caller-secret-value"));
    _ = authorizer.refused(Challenge::default(), None).await;
    for sent in ["id-jag-secret-value", "provider-secret-value"] {
        assert_eq!(told.users(sent), [0], "{sent}");
    }
    // As the headers for both spell them.
    assert_eq!(told.users("Basic "), [0, 0]);
    // What the sign-in goes on with is in use for as long as it lasts.
    for used in ["caller-secret-value", "configured-secret-value"] {
        assert_eq!(told.users(used), [1], "{used}");
    }
    drop(authorizer);
    assert_eq!(told.users(""), vec![0; told.users("").len()]);
}

// AU-2
#[tokio::test]
async fn replaced_tokens_are_in_use_no_more() {
    let (world, told) = world().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    for renewals in 1..4 {
        _ = authorizer.token().await.unwrap();
        for kind in ["access-secret-value", "refresh-secret-value"] {
            let users = told.users(kind);
            assert_eq!((users.len(), users.iter().sum()), (renewals + 1, 1), "{users:?}");
        }
    }
}
