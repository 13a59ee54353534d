//! People who sign in at the issuer of JWTs instead of typing a token.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Form, Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use switchboard_access::{OAuthConfig, oauth::OidcConfig};
use switchboard_gateway::Config;
use switchboard_testkit::{Logs, secrets};
use tracing::Level;

use super::{OAuthClient, browser::Browser, pair, returned, tools};
use crate::{
    TestGateway,
    issuer::{Key, set},
};

const CLIENT_SECRET: &str = "se:cret of the gateway";

/// What the issuer has issued and received.
struct IssuerState {
    url: String,
    key: Key,
    /// Codes, with the parameters of the requests that they were given for.
    codes: HashMap<String, HashMap<String, String>>,
    /// Replaces claims of ID tokens.
    claims: Value,
    /// What clients sent to the token endpoint.
    proofs: Vec<String>,
    /// Every secret that occurred.
    secrets: Vec<String>,
}

/// An OpenID provider that signs everybody in as Grace.
#[derive(Clone)]
struct OidcIssuer(Arc<Mutex<IssuerState>>);

impl OidcIssuer {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let known = IssuerState {
            url,
            key: Key::ed25519("a"),
            codes: HashMap::new(),
            claims: json!({}),
            proofs: Vec::new(),
            secrets: vec![CLIENT_SECRET.to_owned()],
        };
        let issuer = Self(Arc::new(Mutex::new(known)));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        issuer
    }

    fn with<T>(&self, work: impl FnOnce(&mut IssuerState) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }

    fn url(&self) -> String {
        self.with(|known| known.url.clone())
    }

    /// Signs the person in at the address that the browser was sent to. Returns where it is sent back to.
    fn sign_in(&self, address: &str) -> Url {
        let url: Url = address.parse().unwrap();
        assert!(address.starts_with(&format!("{}/authorize?", self.url())), "{address}");
        let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!((&*asked["client_id"], &*asked["scope"]), ("switchboard", "openid groups"));
        let mut back: Url = asked["redirect_uri"].parse().unwrap();
        let code = self.with(|known| {
            let code = format!("{:03}-code-of-the-issuer", known.secrets.len());
            known.secrets.extend([code.clone(), asked["state"].clone(), asked["nonce"].clone()]);
            code
        });
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &asked["state"])
            .append_pair("iss", &self.url());
        self.with(|known| known.codes.insert(code, asked));
        back
    }

    async fn gateway(&self) -> TestGateway {
        let oidc = OidcConfig {
            client_id: "switchboard".to_owned(),
            client_secret: Some(CLIENT_SECRET.to_owned().into()),
            scopes: vec!["groups".to_owned()],
        };
        let jwt = json!({"issuer": self.url(), "audience": "tools", "tools_claim": "tools"});
        let config = Config {
            jwt: Some(serde_json::from_value(jwt).unwrap()),
            oauth: Some(OAuthConfig { oidc: Some(oidc), ..Default::default() }),
            require_token: true,
            ..Config::default()
        };
        TestGateway::configured(config).await
    }
}

async fn discovery(State(issuer): State<OidcIssuer>) -> Json<Value> {
    let url = issuer.url();
    Json(json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "authorization_response_iss_parameter_supported": true,
    }))
}

async fn keys(State(issuer): State<OidcIssuer>) -> Json<Value> {
    Json(issuer.with(|known| set(&[&known.key])))
}

async fn token(
    State(issuer): State<OidcIssuer>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let proof = headers["authorization"].to_str().unwrap().to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    issuer.with(|known| {
        known.proofs.push(proof.clone());
        known.secrets.extend([proof, form["code_verifier"].clone()]);
        // Each is good once.
        let asked = known.codes.remove(&form["code"]);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
        let asked = asked.filter(|asked| {
            asked["code_challenge"] == challenge && asked["redirect_uri"] == form["redirect_uri"]
        });
        let Some(asked) = asked else {
            return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"})));
        };
        let mut claims = json!({
            "iss": known.url, "aud": "switchboard", "sub": "grace", "exp": now + 600, "nonce": asked["nonce"],
            "tools": ["echo"],
        });
        let changed = known.claims.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(changed);
        let token = known.key.token("EdDSA", &claims);
        // Those of a key begin alike.
        known.secrets.extend(token.split('.').skip(1).map(str::to_owned));
        (StatusCode::OK, Json(json!({"id_token": token, "access_token": "x", "token_type": "Bearer"})))
    })
}

/// Checks that no secret that occurred is in the log or in a file.
fn leaves_nothing(issuer: &OidcIssuer, house: &TestGateway, logs: &Logs, of_client: &[&str]) {
    let known = issuer.with(|known| known.secrets.clone());
    let known: Vec<_> = known.iter().map(String::as_str).chain(of_client.iter().copied()).collect();
    let lines = logs.lines();
    assert!(!lines.is_empty());
    assert_eq!(secrets::scan_text(&lines.join("\n"), "the log", &known), []);
    secrets::assert_none(house._folder.path(), &[], &known);
}

/// Goes to the issuer as the link of the page says. Returns where the issuer sends the browser.
async fn go(browser: &mut Browser, client: &OAuthClient<'_>, issuer: &OidcIssuer) -> Url {
    let page = browser.get(&client.path(&[])).await;
    let (_, rest) = page.text.split_once("href=\"/oauth/oidc?").unwrap();
    let (query, label) = rest.split_once("\">").unwrap();
    assert!(label.starts_with("Sign in at http://127.0.0.1:"), "{label}");
    let page = browser.get(&format!("/oauth/oidc?{}", query.replace("&amp;", "&"))).await;
    assert_eq!(page.status, 303, "{}", page.text);
    issuer.sign_in(page.location().unwrap())
}

fn path(url: &Url) -> String {
    format!("{}?{}", url.path(), url.query().unwrap())
}

// AU-4
#[tokio::test]
async fn a_person_signs_in_at_the_issuer_and_lets_a_client_in() {
    let logs = Logs::collect(Level::TRACE);
    let issuer = OidcIssuer::start().await;
    let house = issuer.gateway().await;
    let client = OAuthClient::register(&house).await;
    let mut browser = client.browser();
    let back = go(&mut browser, &client, &issuer).await;
    let page = browser.get(&path(&back)).await;
    // Back to the client's request, as it was.
    assert_eq!(page.location(), Some(client.path(&[]).as_str()), "{}", page.text);
    let page = browser.get(&client.path(&[])).await;
    assert!(page.text.contains("jwt:grace"), "{}", page.text);
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let back = returned(&page);
    let (status, given) = client.exchange(back["code"].as_str().unwrap(), &[]).await;
    assert_eq!(status, 200, "{given}");
    let grant = house.tokens.all().into_iter().find_map(|token| token.entry().oauth.clone());
    assert_eq!(grant.unwrap().user.name(), "jwt:grace");
    // The id and the secret are each encoded as in a form.
    let proof = base64::prelude::BASE64_STANDARD.encode("switchboard:se%3Acret+of+the+gateway");
    assert_eq!(issuer.with(|known| known.proofs.clone()), [format!("Basic {proof}")]);
    let (access, refresh) = pair(&given);
    let code = back["code"].as_str().unwrap();
    leaves_nothing(&issuer, &house, &logs, &[code, &access, &refresh]);
}

// AU-4: and may do what the issuer's claims say.
#[tokio::test]
async fn claims_decide_what_clients_may_do() {
    let logs = Logs::collect(Level::TRACE);
    let issuer = OidcIssuer::start().await;
    let house = issuer.gateway().await;
    let client = OAuthClient::register(&house).await;
    let mut browser = client.browser();
    let back = go(&mut browser, &client, &issuer).await;
    browser.get(&path(&back)).await;
    let whole = house.url("");
    let page = browser.get(&client.path(&[("resource", &whole)])).await;
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let code = returned(&page)["code"].as_str().unwrap().to_owned();
    let (_, given) = client.exchange(&code, &[("resource", &whole)]).await;
    let (access, refresh) = pair(&given);
    assert_eq!(tools(&house, &access).await, ["echo"]);
    leaves_nothing(&issuer, &house, &logs, &[&code, &access, &refresh]);
}

// AU-4: login CSRF, replay, mix-up, and ID tokens that are not for us.
#[tokio::test]
async fn what_is_not_the_issuers_answer_signs_nobody_in() {
    let logs = Logs::collect(Level::TRACE);
    let issuer = OidcIssuer::start().await;
    let house = issuer.gateway().await;
    let client = OAuthClient::register(&house).await;
    let is_signed_in = async |browser: &mut Browser| {
        browser.get(&client.path(&[])).await.text.contains("jwt:grace")
    };
    // Another browser, which an attacker has lured here.
    let mut browser = client.browser();
    let back = go(&mut browser, &client, &issuer).await;
    let mut victim = client.browser();
    let page = victim.get(&path(&back)).await;
    assert!(page.status == 403 && page.text.contains("begun no such sign-in"), "{}", page.text);
    assert!(!is_signed_in(&mut victim).await);
    // Another issuer, or none.
    for iss in ["https://evil.example", ""] {
        let query = path(&back).replace("iss=", "was=") + &format!("&iss={iss}");
        let page = browser.get(&query).await;
        assert!(page.status == 403 && page.text.contains("not of the issuer"), "{}", page.text);
    }
    let page = browser.get(&(path(&back) + "&error=access_denied")).await;
    assert!(page.status == 403 && page.text.contains("access_denied"), "{}", page.text);
    let page = browser.get(&(path(&back) + "&code=another")).await;
    assert_eq!(page.status, 400, "{}", page.text);
    for (claims, reason) in [
        (json!({"nonce": "another"}), "another sign-in"),
        (json!({"nonce": null}), "another sign-in"),
        (json!({"aud": "tools"}), "it is not for"),
        (json!({"aud": ["switchboard", "other"]}), "for whom it was made"),
        (json!({"azp": "other"}), "for another client"),
        (json!({"iss": "https://evil.example"}), "not of the issuer"),
        (json!({"exp": 1}), "it has expired"),
    ] {
        issuer.with(|known| known.claims = claims.clone());
        let mut browser = client.browser();
        let back = go(&mut browser, &client, &issuer).await;
        let page = browser.get(&path(&back)).await;
        assert!(page.status == 401 && page.text.contains(reason), "{claims}: {}", page.text);
        assert!(!is_signed_in(&mut browser).await);
    }
    issuer.with(|known| known.claims = json!({}));
    let mut browser = client.browser();
    let back = go(&mut browser, &client, &issuer).await;
    assert_eq!(browser.get(&path(&back)).await.status, 303);
    assert!(is_signed_in(&mut browser).await);
    // The code is used up, and so is the cookie.
    let page = browser.get(&path(&back)).await;
    assert_eq!(page.status, 403, "{}", page.text);
    leaves_nothing(&issuer, &house, &logs, &[]);
}

// AU-4
#[tokio::test]
async fn without_the_setting_there_is_no_such_page() {
    let house = super::server().await;
    let client = OAuthClient::register(&house).await;
    assert!(!client.browser().get(&client.path(&[])).await.text.contains("/oauth/oidc"));
    for path in ["/oauth/oidc", "/oauth/oidc/callback?code=x&state=y"] {
        assert_eq!(client.browser().get(path).await.status, 404, "{path}");
    }
}
