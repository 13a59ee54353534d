//! Who lets clients in, and what the clients may then do.

use serde_json::json;
use switchboard_access::{JwtConfig, OAuthConfig};
use switchboard_gateway::Config;
use switchboard_toolcall::ProfileRules;

use super::{OAuthClient, configured, mcp, returned, server, tools};
use crate::{
    TestGateway, answer,
    issuer::{Key, set},
};

// AU-4
#[tokio::test]
async fn a_client_may_do_no_more_than_who_let_it_in() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let whole = house.url("");
    let admin = switchboard_access::NewToken {
        name: "root".to_owned(),
        admin: true,
        approve: true,
        watch: true,
        ..Default::default()
    };
    let admin = house.tokens.create(admin).unwrap();
    let (access, _) = client.tokens(&admin, &[("resource", &whole)]).await;
    let (_, session) = answer(house.get("/api/session").bearer_auth(&access)).await;
    assert_eq!(session["name"], "oauth:claude-b");
    for right in ["may_administer", "may_approve", "may_watch"] {
        assert_eq!(session[right], false, "{right}");
    }
    assert_eq!(answer(house.get("/api/tokens").bearer_auth(&access)).await.0, 403);

    let ada = house.token("ada", &["e*", "weather"]);
    let (access, refresh) = client.tokens(&ada, &[("resource", &whole)]).await;
    assert_eq!(tools(&house, &access).await, ["echo", "weather"]);
    let call = house.call("weather", &json!({"city": "Rome"})).bearer_auth(&access);
    assert_eq!(answer(call).await.0, 200);
    assert_eq!(answer(house.call("wait", &json!({})).bearer_auth(&access)).await.0, 404);
    // The person is gone, and so are the clients.
    house.tokens.revoke("ada").unwrap();
    assert_eq!(answer(house.get("/api/tools").bearer_auth(&access)).await.0, 401);
    assert_eq!(client.refresh(&refresh).await.1["error"], "invalid_grant");
    // A new token of the same name is not the old one.
    house.token("ada", &["*"]);
    assert_eq!(answer(house.get("/api/tools").bearer_auth(&access)).await.0, 401);
}

// AU-4
#[tokio::test]
async fn a_person_can_leave_tools_out() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["e*", "weather", "wait"]);
    let whole = house.url("");
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[("resource", &whole)]).await;
    let form = page.form("/oauth/authorize").with("decision", "allow");
    let none = browser.submit(&form.clone().without("tools", None)).await;
    assert_eq!((none.status, none.location()), (400, None));
    // Naming a tool that the person may not see gives nothing.
    let form = form.without("tools", Some("wait")).with("tools", "forbidden").with("tools", "*");
    let code = returned(&browser.submit(&form).await)["code"].as_str().unwrap().to_owned();
    let (_, tokens) = client.exchange(&code, &[]).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(tools(&house, access).await, ["echo", "weather"]);
}

// AU-4
#[tokio::test]
async fn all_clients_of_a_person_share_the_persons_rate() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let rate = Some("8/h".parse().unwrap());
    let limited =
        switchboard_access::NewToken { name: "ada".to_owned(), rate, ..Default::default() };
    let ada = house.tokens.create(limited).unwrap();
    // Signing in takes one of the eight each time.
    let (one, _) = client.tokens(&ada, &[]).await;
    let (two, _) = client.tokens(&ada, &[]).await;
    let mut statuses = Vec::new();
    for token in [&one, &two, &one, &two, &one, &two, &one, &two] {
        statuses.push(mcp(&house, Some(token)).await.0);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429]);
}

// AU-4
#[tokio::test]
async fn on_loopback_the_user_of_the_machine_needs_no_token() {
    let house = configured(OAuthConfig { local_user: Some(true), ..Default::default() }).await;
    assert_eq!(mcp(&house, None).await.0, 401, "programs still need one");
    let client = OAuthClient::register(&house).await;
    let mut browser = client.browser();
    let path = client.path(&[("resource", &house.url(""))]);
    let page = browser.get(&path).await;
    assert!(page.text.contains("the user of this machine"), "{}", page.text);
    assert!(!page.text.contains("I am somebody else"));
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let code = returned(&page)["code"].as_str().unwrap().to_owned();
    let (_, tokens) = client.exchange(&code, &[]).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert!(tools(&house, access).await.contains(&"wait".to_owned()));
    let (_, session) = answer(house.get("/api/session").bearer_auth(access)).await;
    assert_eq!(
        (&session["may_administer"], &session["may_approve"]),
        (&json!(false), &json!(false))
    );
    // Somebody behind a proxy of that user is not that user.
    for header in ["x-forwarded-for", "forwarded"] {
        let request = browser.request(reqwest::Method::GET, &path).header(header, "203.0.113.9");
        let text = request.send().await.unwrap().text().await.unwrap();
        assert!(text.contains("Your token"), "{header}");
    }
    // By default a gateway that demands a token demands it here too.
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    assert!(client.browser().get(&client.path(&[])).await.text.contains("Your token"));
    let nobody = Config { oauth: Some(OAuthConfig::default()), ..Config::default() };
    let house = TestGateway::with_lookup(nobody, |_, _| Some(65534)).await;
    let client = OAuthClient::register(&house).await;
    assert!(client.browser().get(&client.path(&[])).await.text.contains("Your token"));
}

// AU-4
#[tokio::test]
async fn the_bearer_of_a_jwt_lets_clients_in() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::ed25519("a");
    let file = folder.path().join("keys.json");
    std::fs::write(&file, set(&[&key]).to_string()).unwrap();
    let jwt: JwtConfig = serde_json::from_value(json!({
        "issuer": "https://login.example", "audience": "tools", "jwks": file, "tools_claim": "tools",
    }))
    .unwrap();
    let oauth = Some(OAuthConfig::default());
    let config = Config { jwt: Some(jwt), oauth, require_token: true, ..Config::default() };
    let house = TestGateway::configured(config).await;
    let (_, resource) = answer(house.get("/.well-known/oauth-protected-resource/mcp")).await;
    assert_eq!(resource["authorization_servers"], json!([house.url(""), "https://login.example"]));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "iss": "https://login.example", "aud": "tools", "sub": "grace", "exp": now + 600, "tools": ["echo"],
    });
    let token = key.token("EdDSA", &claims);
    let client = OAuthClient::register(&house).await;
    let (access, refresh) = client.tokens(&token, &[("resource", &house.url(""))]).await;
    assert_eq!(tools(&house, &access).await, ["echo"]);
    assert_eq!(client.refresh(&refresh).await.0, 200);
    let grant = house.tokens.all().into_iter().find_map(|token| token.entry().oauth.clone());
    assert_eq!(grant.unwrap().user.name(), "jwt:grace");
}

// AU-4
#[tokio::test]
async fn who_signs_in_wrongly_is_told_and_can_sign_out() {
    let house = server().await;
    let client = OAuthClient::register(&house).await;
    let mut browser = client.browser();
    let page = browser.get(&client.path(&[])).await;
    let page = browser.submit(&page.form("/oauth/sign-in").with("token", "sb_wrong")).await;
    assert!(page.status == 401 && page.text.contains("the token is not known"), "{}", page.text);
    let ada = house.token("ada", &["*"]);
    let page = client.consent_page(&mut browser, &ada, &[]).await;
    let page = browser.submit(&page.form("/oauth/sign-out")).await;
    assert_eq!(page.location(), Some(client.path(&[]).as_str()));
    assert!(browser.get(&client.path(&[])).await.text.contains("Your token"));
}

// AU-4, FT-5: what a person allows for the address of a profile is that profile, now and later.
#[tokio::test]
async fn consent_for_a_profile_is_for_its_tools() {
    let house = server().await;
    let home = json!({"tools": ["weather", "e*"], "tool": {"echo": {"name": "say"}}});
    let set_profiles = |home: &serde_json::Value| {
        let rules = |config: &serde_json::Value| {
            ProfileRules::new(serde_json::from_value(config.clone()).unwrap()).unwrap()
        };
        let all = [("home", rules(home)), ("work", rules(&json!({"tools": ["*"]})))];
        let all = all.map(|(name, rules)| (name.to_owned(), rules));
        house.executor.tools().set_profiles(all.into_iter().collect());
    };
    set_profiles(&home);
    let client = OAuthClient::register(&house).await;
    let ada = house.token("ada", &["*"]);
    let resource = house.url("/mcp/home");
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &[("resource", &resource)]).await;
    let shown = page.text.split("<fieldset>").nth(1).unwrap().split("</fieldset>").next().unwrap();
    assert!(page.text.contains("In the profile</dt><dd><code>home</code>"), "{}", page.text);
    assert!(shown.contains("weather") && shown.contains("say"), "{shown}");
    for tool in ["wait", "forbidden", "echo"] {
        assert!(!shown.contains(tool), "{tool}: {shown}");
    }
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let code = returned(&page)["code"].as_str().unwrap().to_owned();
    let (_, tokens) = client.exchange(&code, &[("resource", &resource)]).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(listed(&house, "/mcp/home", access).await, Ok(vec!["say".into(), "weather".into()]));
    for path in ["/mcp", "/mcp/work"] {
        assert_eq!(listed(&house, path, access).await, Err(401), "{path}");
    }
    let grant = house.tokens.all().into_iter().find(|token| token.entry().oauth.is_some());
    assert_eq!(grant.unwrap().entry().profile.as_deref(), Some("home"));
    // All of the profile means what is in it later, too, and nothing else.
    set_profiles(&json!({"tools": ["weather", "wait"]}));
    let later = listed(&house, "/mcp/home", access).await;
    assert_eq!(later, Ok(vec!["wait".into(), "weather".into()]));

    // A profile that there is not, for this person at least.
    let bound = switchboard_access::NewToken {
        name: "bob".to_owned(),
        profile: Some("work".to_owned()),
        ..Default::default()
    };
    let bob = house.tokens.create(bound).unwrap();
    for (token, path) in [(&ada, "/mcp/nowhere"), (&bob, "/mcp/home"), (&bob, "/mcp/nowhere")] {
        let resource = house.url(path);
        let mut browser = client.browser();
        let page = client.consent_page(&mut browser, token, &[("resource", &resource)]).await;
        assert!(page.status == 400 && page.text.contains("there is no profile"), "{}", page.text);
    }
}

/// The names of the tools that an MCP client sees at this address, or the status.
pub(super) async fn listed(
    house: &TestGateway,
    path: &str,
    token: &str,
) -> Result<Vec<String>, u16> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let request = house.client.post(house.url(path)).json(&body).bearer_auth(token);
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", "2026-07-28");
    let (status, answer) = answer(request.header("mcp-method", "tools/list")).await;
    if status != 200 {
        return Err(status);
    }
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let mut names: Vec<_> =
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    names.retain(|name| name != "read_result");
    names.sort();
    Ok(names)
}
