//! Two gateways of a cluster: what begins at one goes on at the other.

use std::{net::SocketAddr, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;
use crate::{
    Caller, Config, ConnectionUser, Peers, Rejection, Tokens, peers::fake::FakePeers, rate::Rate,
};

const BASE: &str = "http://127.0.0.1:7300";
const REDIRECT: &str = "https://client.example/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

fn gateway(peers: &Arc<FakePeers>, folder: &std::path::Path, oauth: OAuthConfig) -> Access {
    let tokens = Arc::new(Tokens::open(folder.join("tokens.json")).unwrap());
    let address: SocketAddr = "127.0.0.1:7300".parse().unwrap();
    let config = Config { require_token: true, oauth: Some(oauth), ..Config::default() };
    let peers: Arc<dyn Peers> = peers.clone();
    Access::among(Some(peers), &config, address, tokens).unwrap()
}

fn parameters(pairs: &[(&str, &str)]) -> Parameters {
    let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Parameters::parse(text.as_bytes())
}

fn query(client: &str) -> Parameters {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    parameters(&[
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ])
}

fn exchange(client: &str, code: &str) -> Parameters {
    parameters(&[
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", client),
        ("code_verifier", VERIFIER),
    ])
}

fn refresh(token: &str) -> Parameters {
    parameters(&[("grant_type", "refresh_token"), ("refresh_token", token)])
}

async fn register(access: &Access) -> Result<String, OAuthError> {
    let body = json!({"client_name": "C", "redirect_uris": [REDIRECT]}).to_string();
    let client = access.register_client(body.as_bytes()).await?;
    Ok(client["client_id"].as_str().unwrap().to_owned())
}

async fn code(access: &Access, client: &str) -> String {
    let request = access.authorization(BASE, &query(client)).await.unwrap();
    let person = Person { caller: Caller::default(), user: GrantUser::Owner };
    let address = access.consent(&request, &person, None).await.unwrap();
    let url: reqwest::Url = address.parse().unwrap();
    url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

async fn admit(access: &Access, token: &str) -> Result<String, Rejection> {
    let request = http::Request::post("/mcp").header("host", "127.0.0.1:7300");
    let request = request.header("authorization", format!("Bearer {token}"));
    let (head, ()) = request.body(()).unwrap().into_parts();
    let admitted = access.admit(&head, ConnectionUser::Unknown).await?;
    Ok(admitted.caller.name.unwrap().to_string())
}

// AU-4
#[tokio::test(start_paused = true)]
async fn any_gateway_of_a_cluster_goes_on_where_another_began() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Arc::new(FakePeers::new(false));
    let [one, two] = ["one", "two"]
        .map(|name| gateway(&peers, &folder.path().join(name), OAuthConfig::default()));
    let client = register(&one).await.unwrap();
    let code = code(&two, &client).await;
    let tokens = one.exchange(BASE, &exchange(&client, &code)).await.unwrap();
    for access in [&one, &two] {
        assert_eq!(admit(access, &tokens.access_token).await.unwrap(), "oauth:c");
    }
    let renewed = two.exchange(BASE, &refresh(&tokens.refresh_token)).await.unwrap();
    assert_eq!(admit(&one, &renewed.access_token).await.unwrap(), "oauth:c");
    // Reuse at the other gateway ends it at both.
    assert!(one.exchange(BASE, &refresh(&tokens.refresh_token)).await.is_err());
    for access in [&one, &two] {
        assert!(admit(access, &renewed.access_token).await.is_err());
    }
    assert!(two.exchange(BASE, &refresh(&renewed.refresh_token)).await.is_err());
}

// AU-4
#[tokio::test(start_paused = true)]
async fn a_code_is_exchanged_at_one_gateway_only() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Arc::new(FakePeers::new(false));
    let [one, two] = ["one", "two"]
        .map(|name| gateway(&peers, &folder.path().join(name), OAuthConfig::default()));
    let client = register(&one).await.unwrap();
    let code = code(&one, &client).await;
    let sent = exchange(&client, &code);
    let (first, second) = tokio::join!(one.exchange(BASE, &sent), two.exchange(BASE, &sent));
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|ok| **ok).count(), 1);
}

// AU-4
#[tokio::test(start_paused = true)]
async fn who_cannot_store_a_client_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let away = Arc::new(FakePeers::new(true));
    let access = gateway(&away, folder.path(), OAuthConfig::default());
    assert_eq!(register(&access).await.unwrap_err().code, "temporarily_unavailable");
    let rate = Rate::per_hour(1);
    let few = OAuthConfig { registration_rate: rate, ..OAuthConfig::default() };
    let access = gateway(&away, folder.path(), few);
    let _ = register(&access).await;
    assert_eq!(register(&access).await.unwrap_err().code, "slow_down");
}
