//! What attackers try.

use std::{fs, net::TcpListener};

use reqwest::Method;
use serde_json::{Value, json};
use switchboard_gateway::Config;

use super::{
    OAuthClient, REDIRECT, VERIFIER, answer, configured, mcp, pair, returned, server, tools,
};
use crate::{TestGateway, oauth::browser::Browser};

// AU-4: code replay, and a code without what belongs to it.
#[tokio::test]
async fn a_code_is_good_once_and_for_its_client_only() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let code = client.code(&ada, &[]).await;
    let (status, tokens) = client.exchange(&code, &[]).await;
    assert_eq!(status, 200);
    let (access, refresh) = pair(&tokens);
    assert_eq!(mcp(&house, Some(&access)).await.0, 200);
    // The second use ends what the first one got: somebody else has the code.
    let refused = (400, json!("invalid_grant"));
    let said = |(status, body): (u16, Value)| (status, body["error"].clone());
    assert_eq!(said(client.exchange(&code, &[]).await), refused);
    assert_eq!(mcp(&house, Some(&access)).await.0, 401);
    assert_eq!(said(client.refresh(&refresh).await), refused);

    let other = OAuthClient::register(&house).await;
    for wrong in [
        ("code_verifier", "x".repeat(43)),
        ("redirect_uri", "https://evil.example/callback".to_owned()),
        ("client_id", other.id.clone()),
        ("resource", house.url("")),
    ] {
        let code = client.code(&ada, &[]).await;
        let sent = [(wrong.0, wrong.1.as_str())];
        assert_eq!(said(client.exchange(&code, &sent).await), refused, "{}", wrong.0);
        // Nor a second try with everything right.
        assert_eq!(said(client.exchange(&code, &[]).await), refused, "{}", wrong.0);
    }
    for (missing, code) in [("code_verifier", "invalid_request"), ("grant_type", "invalid_request")]
    {
        let (_, error) = client.exchange("sb_code_x", &[(missing, "")]).await;
        assert_eq!(error["error"], code, "{missing}");
    }
    let (_, error) = client.token(&[("grant_type", "password"), ("username", "x")]).await;
    assert_eq!(error["error"], "unsupported_grant_type");
    let twice = [("grant_type", "refresh_token"), ("refresh_token", "a"), ("refresh_token", "b")];
    assert_eq!(client.token(&twice).await.1["error"], "invalid_request");
}

// AU-4: refresh reuse.
#[tokio::test]
async fn a_refresh_token_that_is_used_twice_ends_the_family() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let (_, stolen) = client.tokens(&ada, &[]).await;
    let (access, current) = pair(&client.refresh(&stolen).await.1);
    assert_eq!(mcp(&house, Some(&access)).await.0, 200);
    assert_eq!(client.refresh(&stolen).await.1["error"], "invalid_grant");
    assert_eq!(client.refresh(&current).await.1["error"], "invalid_grant");
    assert_eq!(mcp(&house, Some(&access)).await.0, 401);
    assert!(!house.tokens.all().iter().any(|token| token.entry().oauth.is_some()));
    // Somebody who only knows the name of a client can end nothing.
    let (_, refresh) = client.tokens(&ada, &[]).await;
    let (_, forged) = client.refresh("sb_rt_AAAA").await;
    assert_eq!(forged["error"], "invalid_grant");
    assert_eq!(client.refresh(&refresh).await.0, 200);
    // An access token is no refresh token, and neither signs in.
    let (access, refresh) = client.tokens(&ada, &[]).await;
    assert_eq!(client.refresh(&access).await.1["error"], "invalid_grant");
    assert_eq!(mcp(&house, Some(&refresh)).await.0, 401);
    let mut browser = client.browser();
    for secret in [&access, &refresh] {
        let page = browser.get(&client.path(&[])).await;
        let page = browser.submit(&page.form("/oauth/sign-in").with("token", secret)).await;
        assert_eq!(page.status, 401);
    }
}

// AU-4: redirect confusion and open redirect.
#[tokio::test]
async fn browsers_are_sent_to_addresses_of_the_client_only() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let mut browser = client.browser();
    client.consent_page(&mut browser, &ada, &[]).await;
    for wrong in [
        "https://evil.example/callback",
        "https://client.example/callback/../evil",
        "https://client.example/callback?x=1",
        "https://client.example/callback#x",
        "https://client.example@evil.example/callback",
        "https://client.example:444/callback",
        "http://client.example/callback",
        "http://127.0.0.1:1/callback",
        "javascript:alert(1)",
        "//evil.example",
    ] {
        let page = browser.get(&client.path(&[("redirect_uri", wrong)])).await;
        assert_eq!((page.status, page.location()), (400, None), "{wrong}");
        assert!(!page.text.contains("href=\"http"), "{}", page.text);
    }
    let twice = format!("{}&redirect_uri=https://evil.example/", client.path(&[]));
    assert_eq!(browser.get(&twice).await.status, 400);
    for id in ["", "client-unknown", "https://client.example"] {
        let page = browser.get(&client.path(&[("client_id", id)])).await;
        assert_eq!((page.status, page.location()), (400, None), "{id}");
    }
    // What a form carries along cannot be exchanged for something else.
    let page = browser.get(&client.path(&[])).await;
    let form = page.form("/oauth/authorize").without("request", None);
    for request in
        ["", "//evil.example", &client.query(&[("redirect_uri", "https://evil.example/")])]
    {
        let form = form.clone().with("request", request).with("decision", "allow");
        let page = browser.submit(&form).await;
        assert_eq!((page.status, page.location()), (403, None), "{request}");
    }
}

// AU-4: a client on the person's own machine takes any free port, and the person is warned.
#[tokio::test]
async fn ports_of_loopback_are_free() {
    let house = server().await;
    let metadata = json!({"redirect_uris": ["http://127.0.0.1:1234/callback"]});
    let request = house.client.post(house.url("/oauth/register")).json(&metadata);
    let id = answer(request).await.1["client_id"].as_str().unwrap().to_owned();
    let redirect = "http://127.0.0.1:49152/callback".to_owned();
    let client = OAuthClient { house: &house, id, redirect };
    let ada = house.token("ada", &["*"]);
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[]).await;
    assert!(page.text.contains("any program can claim this name"), "{}", page.text);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with("form-action 'self' http://127.0.0.1:49152"), "{policy}");
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    assert!(page.location().unwrap().starts_with("http://127.0.0.1:49152/callback?code="));
    let path = client.path(&[("redirect_uri", "http://localhost:49152/callback")]);
    assert_eq!(browser.get(&path).await.status, 400, "another host");
}

// AU-4: CIMD SSRF.
#[tokio::test]
async fn a_metadata_document_leads_to_no_private_address() {
    let house = server().await;
    let ada = house.token("ada", &["*"]);
    let client = OAuthClient::register(&house).await;
    let mut browser = client.browser();
    client.consent_page(&mut browser, &ada, &[]).await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]", "169.254.169.254"] {
        for scheme in ["http", "https"] {
            let id = format!("{scheme}://{host}:{port}/client.json");
            let page = browser.get(&client.path(&[("client_id", &id)])).await;
            assert_eq!((page.status, page.location()), (400, None), "{id}");
        }
    }
    // Whoever has not signed in makes the gateway fetch nothing at all.
    let private = switchboard_access::OAuthConfig { private_addresses: true, ..Default::default() };
    let open = configured(private).await;
    let id = format!("http://127.0.0.1:{port}/client.json");
    let client = OAuthClient { house: &open, id, redirect: REDIRECT.to_owned() };
    let page = client.browser().get(&client.path(&[])).await;
    assert!(page.status == 200 && page.text.contains("Sign in"));
    assert!(listener.accept().is_err(), "nobody connected");
}

// AU-4: consent CSRF.
#[tokio::test]
async fn only_our_own_page_can_consent() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[]).await;
    let form = page.form("/oauth/authorize").with("decision", "allow");
    let send = async |browser: &Browser, headers: &[(&str, &str)], fields: &[(String, String)]| {
        let mut request = browser.request(Method::POST, "/oauth/authorize").form(fields);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    let own = [("origin", browser.origin.as_str())];
    for headers in [
        &[][..],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://localhost:1")],
        &[own[0], ("sec-fetch-site", "cross-site")],
        &[own[0], ("sec-fetch-site", "same-site")],
    ] {
        assert_eq!(send(&browser, headers, &form.fields).await, 403, "{headers:?}");
    }
    let without = |name: &str| form.clone().without(name, None).fields;
    assert_eq!(send(&browser, &own, &without("form")).await, 403);
    let guessed = form.clone().without("form", None).with("form", &"A".repeat(43));
    assert_eq!(send(&browser, &own, &guessed.fields).await, 403);
    // The form of another browser, which another person may have signed in with.
    let mut other = client.browser();
    let page = client.consent_page(&mut other, &house.token("eve", &["*"]), &[]).await;
    let foreign = page.form("/oauth/authorize").with("decision", "allow");
    assert_eq!(send(&browser, &own, &foreign.fields).await, 403);
    // That of signing in does not consent.
    let page = client.browser().get(&client.path(&[])).await;
    let foreign = page.form("/oauth/sign-in").with("decision", "allow");
    assert_eq!(send(&browser, &own, &foreign.fields).await, 403);
    assert!(!house.tokens.all().iter().any(|token| token.entry().oauth.is_some()));
    returned(&browser.submit(&form).await);
}

// AU-4: clickjacking, and script.
#[tokio::test]
async fn pages_are_not_framed_and_have_no_script() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let mut browser = client.browser();
    let consent = client.consent_page(&mut browser, &ada, &[]).await;
    let sign_in = client.browser().get(&client.path(&[])).await;
    let error = browser.get(&client.path(&[("redirect_uri", "https://evil.example/")])).await;
    for page in [consent, sign_in, error] {
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        for word in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(word), "{policy}");
        }
        assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(page.headers[name], value);
        }
    }
    // A browser says that it loads a frame; a visit from another page is welcome, but comes without our cookie.
    let visit = async |target: &str| {
        let request = browser.client_without_cookies(&client.path(&[]));
        let request =
            request.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate");
        request.header("sec-fetch-dest", target).send().await.unwrap()
    };
    assert_eq!(visit("iframe").await.status(), 403);
    let led = visit("document").await;
    let again = led.headers()["refresh"].to_str().unwrap().to_owned();
    assert_eq!((led.status().as_u16(), again), (200, format!("0; url={}", client.path(&[]))));
}

// AU-4: `resource` of another server, and a token for another audience.
#[tokio::test]
async fn a_token_is_for_one_address() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let code = client.code(&ada, &[]).await;
    let elsewhere = [("resource", "https://other.example/mcp")];
    assert_eq!(client.exchange(&code, &elsewhere).await.1["error"], "invalid_target");
    // Nothing was tried with the code yet.
    let own = house.url("/mcp");
    let (status, tokens) = client.exchange(&code, &[("resource", &own)]).await;
    assert_eq!(status, 200);
    let (access, _) = pair(&tokens);
    let other_name = format!("http://localhost:{}", house.address.port());
    let request = house.client.post(format!("{other_name}/mcp")).bearer_auth(&access);
    assert_eq!(request.send().await.unwrap().status(), 401);
    // Another gateway does not know it, even with the same state.
    let other = server().await;
    fs::copy(house._folder.path().join("tokens.json"), other._folder.path().join("tokens.json"))
        .unwrap();
    assert_eq!(mcp(&other, Some(&access)).await.0, 401);
    let (whole, _) = client.tokens(&ada, &[("resource", &house.url("/"))]).await;
    assert!(tools(&house, &whole).await.contains(&"echo".to_owned()));
}

// AU-4: nothing of it is stored in clear.
#[tokio::test]
async fn files_hold_no_secret() {
    let oauth = Some(switchboard_access::OAuthConfig::default());
    let config = Config { oauth, require_token: true, access_log: true, ..Config::default() };
    let house = TestGateway::configured(config).await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let code = client.code(&ada, &[]).await;
    let (first, refresh) = pair(&client.exchange(&code, &[]).await.1);
    let (second, last) = pair(&client.refresh(&refresh).await.1);
    let mut files = 0;
    for entry in fs::read_dir(house._folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&text);
        files += 1;
        for secret in [&*code, &first, &refresh, &second, &last, &ada, VERIFIER] {
            assert!(!text.contains(secret), "{}", path.display());
        }
    }
    assert!(files >= 2, "tokens and clients");
}
