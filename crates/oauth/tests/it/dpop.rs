//! Tokens that are bound to a key (RFC 9449).

use serde_json::{Value, json};
use switchboard_oauth::{Challenge, DpopDemand, Remedy};
use url::Url;

use crate::{SignInSetup, authorization_server::proof_claim};

/// A world whose server wants bound tokens.
async fn world() -> SignInSetup {
    let world = SignInSetup::new().await;
    world.server.with(|known| {
        known.binds = true;
        known.resource_metadata = json!({"dpop_bound_access_tokens_required": true});
    });
    world
}

fn claim(headers: &[(&str, switchboard_oauth::Secret)], name: &str) -> String {
    let mut map = http::HeaderMap::new();
    let proof = headers.iter().find(|(name, _)| *name == "DPoP").unwrap();
    map.insert("DPoP", proof.1.expose().parse().unwrap());
    proof_claim(&map, name)
}

// AU-3
#[tokio::test]
async fn bound_tokens_are_sent_with_a_proof_for_each_request() {
    let world = world().await;
    world.sign_in().await.unwrap();
    // The first request is answered with a nonce, the second one has it.
    let nonces = world.server.with(|known| {
        known.requests.iter().map(|(_, headers)| proof_claim(headers, "nonce")).collect::<Vec<_>>()
    });
    assert_eq!(nonces, ["", "as-nonce"]);
    let token = world.authorizer().token().await.unwrap();
    let url = Url::parse("https://a.example/mcp?x=1#y").unwrap();
    let (one, other) = (token.headers("POST", &url).unwrap(), token.headers("GET", &url).unwrap());
    assert_eq!(one[0].1.expose(), format!("DPoP {}", token.token().expose()));
    assert_eq!((claim(&one, "htm"), claim(&other, "htm")), ("POST".into(), "GET".into()));
    assert_eq!(claim(&one, "htu"), "https://a.example/mcp");
    assert_ne!(claim(&one, "jti"), claim(&other, "jti"));
    assert_eq!(claim(&one, "ath").len(), 43);
}

// AU-3: the server's nonce is in the next proof; a request is repeated for it with the same token.
#[tokio::test]
async fn a_nonce_of_the_server_is_used() {
    let world = world().await;
    world.sign_in().await.unwrap();
    let authorizer = world.authorizer();
    let used = authorizer.token().await.unwrap();
    authorizer.note_nonce("rs-nonce");
    let challenge = Challenge {
        error: Some("use_dpop_nonce".to_owned()),
        dpop: DpopDemand::Required,
        ..Challenge::default()
    };
    let Remedy::NewProof(again) = authorizer.refused(challenge, Some(&used)).await else {
        panic!("no new proof")
    };
    assert_eq!(again.token(), used.token());
    let url = Url::parse("https://a.example/mcp").unwrap();
    assert_eq!(claim(&again.headers("POST", &url).unwrap(), "nonce"), "rs-nonce");
    assert_eq!(world.server.with(|known| known.refreshes), 0);
}

// AU-3: renewed with the key that the refresh token is bound to, by another process too.
#[tokio::test]
async fn a_bound_sign_in_is_renewed_with_its_key() {
    let world = world().await;
    world.server.with(|known| known.lifetime = 0);
    world.sign_in().await.unwrap();
    world.server.with(|known| known.lifetime = 3600);
    world.authorizer().token().await.unwrap();
    let keys = world.server.with(|known| {
        let key = |headers: &http::HeaderMap| {
            let proof = headers["DPoP"].to_str().unwrap().split('.').next().unwrap().to_owned();
            let bytes =
                base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, proof)
                    .unwrap();
            serde_json::from_slice::<Value>(&bytes).unwrap()["jwk"].clone()
        };
        known.requests.iter().map(|(_, headers)| key(headers)).collect::<Vec<_>>()
    });
    assert_eq!(world.server.with(|known| known.refreshes), 1);
    assert!(keys.len() == 4 && keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    assert!(keys[0].get("d").is_none(), "no private key is sent");
}

// AU-3: a server that wants bound tokens gets no others.
#[tokio::test]
async fn a_token_that_is_not_bound_is_refused_if_the_server_wants_one() {
    let world = world().await;
    world.server.with(|known| known.binds = false);
    let error = world.sign_in().await.unwrap_err();
    assert!(error.to_string().contains("bound to a key (DPoP)"), "{error}");
    assert_eq!(world.stored().await, None);
}

// AU-3: no server is sent proofs that did not ask for them.
#[tokio::test]
async fn proofs_are_sent_only_where_they_are_wanted() {
    let world = SignInSetup::new().await;
    world.server.with(|known| {
        known.metadata = json!({"dpop_signing_alg_values_supported": ["ES256"]});
    });
    world.sign_in().await.unwrap();
    assert!(world.server.with(|known| !known.requests[0].1.contains_key("DPoP")));
}
