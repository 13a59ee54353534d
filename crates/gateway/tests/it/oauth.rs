//! The gateway as an authorization server (SPEC AU-4): a client is let in by a person, and what attackers try is refused.

mod attacks;
mod browser;
mod documents;
mod oidc;
mod people;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use switchboard_access::OAuthConfig;
use switchboard_gateway::Config;

use crate::{TestGateway, answer, read};
use browser::{Browser, Page};

const REDIRECT: &str = "https://client.example/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// A gateway that is an authorization server, and demands a token of everybody.
async fn server() -> TestGateway {
    configured(OAuthConfig::default()).await
}

async fn configured(oauth: OAuthConfig) -> TestGateway {
    let oauth = Some(oauth);
    TestGateway::configured(Config { oauth, require_token: true, ..Config::default() }).await
}

/// An OAuth client of the gateway.
struct OAuthClient<'a> {
    house: &'a TestGateway,
    id: String,
    redirect: String,
}

impl<'a> OAuthClient<'a> {
    /// A client that registers itself.
    async fn register(house: &'a TestGateway) -> Self {
        let metadata = json!({"client_name": "Claude <b>", "redirect_uris": [REDIRECT]});
        let request = house.client.post(house.url("/oauth/register")).json(&metadata);
        let (status, client) = answer(request).await;
        assert_eq!(status, 201, "{client}");
        let id = client["client_id"].as_str().unwrap().to_owned();
        Self { house, id, redirect: REDIRECT.to_owned() }
    }

    fn browser(&self) -> Browser {
        Browser::new(&self.house.url(""))
    }

    /// The query of a request, with `more` over it; an empty value takes something out.
    fn query(&self, more: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect),
            ("state", "a&b c"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        pairs.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        pairs.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        let url = reqwest::Url::parse_with_params("http://x/", pairs).unwrap();
        url.query().unwrap().to_owned()
    }

    fn path(&self, more: &[(&str, &str)]) -> String {
        format!("/oauth/authorize?{}", self.query(more))
    }

    /// The consent page, for the bearer of a token.
    async fn consent_page(
        &self,
        browser: &mut Browser,
        token: &str,
        more: &[(&str, &str)],
    ) -> Page {
        let path = self.path(more);
        let page = browser.get(&path).await;
        let page = browser.submit(&page.form("/oauth/sign-in").with("token", token)).await;
        assert_eq!((page.status, page.location()), (303, Some(path.as_str())), "{}", page.text);
        browser.get(&path).await
    }

    /// The code after a person has signed in and allowed everything.
    async fn code(&self, token: &str, more: &[(&str, &str)]) -> String {
        let mut browser = self.browser();
        let page = self.consent_page(&mut browser, token, more).await;
        let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
        returned(&page)["code"].as_str().unwrap().to_owned()
    }

    async fn token(&self, fields: &[(&str, &str)]) -> (u16, Value) {
        answer(self.house.client.post(self.house.url("/oauth/token")).form(fields)).await
    }

    async fn exchange(&self, code: &str, more: &[(&str, &str)]) -> (u16, Value) {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect),
            ("code_verifier", VERIFIER),
        ];
        fields.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        fields.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        self.token(&fields).await
    }

    async fn refresh(&self, refresh: &str) -> (u16, Value) {
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &self.id)];
        self.token(&fields).await
    }

    /// Access and refresh token after a whole sign-in.
    async fn tokens(&self, token: &str, more: &[(&str, &str)]) -> (String, String) {
        let code = self.code(token, more).await;
        let (status, tokens) = self.exchange(&code, &[]).await;
        assert_eq!(status, 200, "{tokens}");
        pair(&tokens)
    }
}

/// Access and refresh token of a response.
fn pair(tokens: &Value) -> (String, String) {
    let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

/// What the client is told at the address that the browser was sent to.
fn returned(page: &Page) -> Value {
    assert_eq!(page.status, 303, "{}", page.text);
    let url: reqwest::Url = page.location().unwrap().parse().unwrap();
    assert!(url.as_str().starts_with(REDIRECT), "{url}");
    url.query_pairs().map(|(name, value)| (name.into_owned(), Value::from(value))).collect()
}

/// The status of a request to MCP, and the challenge.
async fn mcp(house: &TestGateway, token: Option<&str>) -> (u16, String) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    });
    let request = house.client.post(house.url("/mcp")).json(&body);
    let request = request.header("accept", "application/json, text/event-stream");
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let response = request.send().await.unwrap();
    let challenge = response.headers().get("www-authenticate");
    let challenge = challenge.map(|text| text.to_str().unwrap().to_owned()).unwrap_or_default();
    (response.status().as_u16(), challenge)
}

/// The names of the tools that a token sees.
async fn tools(house: &TestGateway, token: &str) -> Vec<String> {
    let (status, tools) = answer(house.get("/api/tools").bearer_auth(token)).await;
    assert_eq!(status, 200, "{tools}");
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.as_array().unwrap().iter().map(name).collect()
}

// AU-4
#[tokio::test]
async fn a_client_finds_its_way_in() {
    let house = server().await;
    let base = house.url("");
    let (status, challenge) = mcp(&house, None).await;
    let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
    assert_eq!(status, 401);
    assert_eq!(challenge, format!("Bearer resource_metadata=\"{metadata}\", scope=\"tools\""));
    let (_, resource) = answer(house.client.get(metadata)).await;
    assert_eq!(resource["resource"], format!("{base}/mcp"));
    assert_eq!(resource["authorization_servers"], json!([base]));
    for place in ["oauth-authorization-server", "openid-configuration"] {
        let (status, server) = answer(house.get(&format!("/.well-known/{place}"))).await;
        assert_eq!((status, &server["issuer"]), (200, &json!(base)));
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(server["client_id_metadata_document_supported"], true);
        assert_eq!(server["authorization_response_iss_parameter_supported"], true);
        assert_eq!(server["registration_endpoint"], format!("{base}/oauth/register"));
    }

    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["e*", "weather"]);
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[]).await;
    for word in ["Claude &lt;b&gt;", REDIRECT, "ada", "weather", "echo", "nobody vouches"] {
        assert!(page.text.contains(word), "{word}: {}", page.text);
    }
    assert!(!page.text.contains("forbidden") && !page.text.contains("<script"), "{}", page.text);
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let back = returned(&page);
    assert_eq!((&back["state"], &back["iss"]), (&json!("a&b c"), &json!(base)));

    let (status, tokens) = client.exchange(back["code"].as_str().unwrap(), &[]).await;
    assert_eq!((status, &tokens["token_type"]), (200, &json!("Bearer")));
    assert_eq!((&tokens["expires_in"], &tokens["scope"]), (&json!(3600), &json!("tools")));
    let (access, _) = pair(&tokens);
    assert_eq!(mcp(&house, Some(&access)).await.0, 200);
    // It is for MCP, and for nothing else.
    let (status, refusal) = answer(house.get("/api/tools").bearer_auth(&access)).await;
    assert!(status == 401 && refusal["error"].as_str().unwrap().contains("/mcp`, not for"));
}

// AU-4
#[tokio::test]
async fn a_refusal_and_an_error_are_told_to_the_client() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[]).await;
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "deny")).await;
    let back = returned(&page);
    assert_eq!((&back["error"], &back["state"]), (&json!("access_denied"), &json!("a&b c")));
    assert_eq!(back["iss"], house.url(""));

    for (more, code) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("prompt", "none"), "consent_required"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
    ] {
        let page = browser.get(&client.path(&[more])).await;
        assert_eq!((page.status, page.location()), (400, None), "{more:?}");
        let (_, back) = page.text.split_once("href=\"https://client.example/callback?").unwrap();
        assert!(back.starts_with(&format!("error={code}&amp;")), "{more:?}: {back}");
    }
}

// AU-4
#[tokio::test]
async fn tokens_are_renewed_and_revoked() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let (first, refresh) = client.tokens(&ada, &[("scope", "tools offline_access")]).await;
    let (status, tokens) = client.refresh(&refresh).await;
    assert_eq!((status, &tokens["scope"]), (200, &json!("tools offline_access")));
    let (second, refresh) = pair(&tokens);
    assert_ne!(first, second);
    for access in [&first, &second] {
        assert_eq!(mcp(&house, Some(access)).await.0, 200);
    }
    let revoke = async |token: &str| {
        let fields = [("token", token), ("client_id", client.id.as_str())];
        let request = house.client.post(house.url("/oauth/revoke")).form(&fields);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(revoke("sb_at_unknown").await, 200);
    assert_eq!(revoke(&second).await, 200);
    assert_eq!([mcp(&house, Some(&first)).await.0, mcp(&house, Some(&second)).await.0], [200, 401]);
    assert_eq!(revoke(&refresh).await, 200);
    assert_eq!(mcp(&house, Some(&first)).await.0, 401);
    assert_eq!(client.refresh(&refresh).await.1["error"], "invalid_grant");
}

// AU-4
#[tokio::test]
async fn clients_stand_among_the_tokens_and_are_revoked_by_name() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["e*", "weather"]);
    let (one, _) = client.tokens(&ada, &[]).await;
    let (two, _) = client.tokens(&ada, &[]).await;
    let admin =
        switchboard_access::NewToken { name: "root".to_owned(), admin: true, ..Default::default() };
    let admin = house.tokens.create(admin).unwrap();
    let (_, listed) = answer(house.get("/api/tokens").bearer_auth(&admin)).await;
    let listed = listed["tokens"].as_array().unwrap();
    let names: Vec<_> = listed.iter().map(|token| token["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ada", "oauth:claude-b", "oauth:claude-b-2", "root"]);
    let shown = &listed[1];
    assert_eq!((&shown["client"]["user"], &shown["visible"]), (&json!("ada"), &json!(2)));
    assert_eq!(shown["client"]["resource"], house.url("/mcp"));
    assert_eq!([&shown["admin"], &shown["approve"], &shown["watch"]], [false; 3]);
    house.tokens.revoke("oauth:claude-b").unwrap();
    assert_eq!([mcp(&house, Some(&one)).await.0, mcp(&house, Some(&two)).await.0], [401, 200]);
}

// AU-4
#[tokio::test]
async fn registration_is_limited_and_can_be_off() {
    let rate = "3/h".parse().unwrap();
    let house = configured(OAuthConfig { registration_rate: rate, ..Default::default() }).await;
    for _ in 0..3 {
        OAuthClient::register(&house).await;
    }
    let register = async |house: &TestGateway, body: &str| {
        let request = house.client.post(house.url("/oauth/register")).body(body.to_owned());
        read(request.send().await.unwrap()).await
    };
    let good = json!({"redirect_uris": [REDIRECT]}).to_string();
    let (status, error) = register(&house, &good).await;
    assert_eq!((status, &error["error"]), (429, &json!("slow_down")));

    let house = server().await;
    for (body, code) in [
        ("", "invalid_client_metadata"),
        (r#"{"redirect_uris": ["http://client.example/"]}"#, "invalid_redirect_uri"),
    ] {
        let (status, error) = register(&house, body).await;
        assert_eq!((status, &error["error"]), (400, &json!(code)), "{body}");
    }
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(70_000));
    assert_eq!(register(&house, &large).await.0, 400);

    let house = configured(OAuthConfig { registration: false, ..Default::default() }).await;
    assert_eq!(register(&house, &good).await.1["error"], "access_denied");
    let (_, server) = answer(house.get("/.well-known/oauth-authorization-server")).await;
    assert_eq!(server.get("registration_endpoint"), None);
}

// AU-4
#[tokio::test]
async fn without_the_section_there_is_no_such_server() {
    let house = TestGateway::start().await;
    for path in [
        "/oauth/authorize",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-protected-resource",
    ] {
        assert_eq!(answer(house.get(path)).await.0, 404, "{path}");
    }
    for path in
        ["/oauth/token", "/oauth/register", "/oauth/revoke", "/oauth/sign-in", "/oauth/authorize"]
    {
        let (status, _) = answer(house.client.post(house.url(path)).form(&[("a", "b")])).await;
        assert_eq!(status, 404, "{path}");
    }
}
