//! Clients that are known by the address of their metadata document (CIMD), which the gateway fetches.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use serde_json::{Value, json};
use switchboard_access::OAuthConfig;
use switchboard_toolcall::ProfileRules;

use super::{OAuthClient, REDIRECT, browser::Page, configured, pair, people::listed, returned};
use crate::TestGateway;

/// What the site of a client serves.
#[derive(Default)]
struct Site {
    document: Value,
    is_down: bool,
    requests: usize,
}

/// The site of a client, with its metadata document.
struct ClientSite {
    id: String,
    site: Arc<Mutex<Site>>,
}

impl ClientSite {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (id, site) = (format!("http://localhost:{port}/client.json"), Arc::default());
        let routes = Router::new().route("/client.json", get(document));
        let routes = routes.with_state(Arc::clone(&site));
        tokio::spawn(async { axum::serve(listener, routes).await.unwrap() });
        let site = Self { id, site };
        site.publish("Claude", REDIRECT);
        site
    }

    fn with<T>(&self, work: impl FnOnce(&mut Site) -> T) -> T {
        work(&mut self.site.lock().unwrap())
    }

    fn publish(&self, name: &str, redirect: &str) {
        let document =
            json!({"client_id": self.id, "client_name": name, "redirect_uris": [redirect]});
        self.with(|site| site.document = document);
    }

    fn client<'a>(&self, house: &'a TestGateway) -> OAuthClient<'a> {
        OAuthClient { house, id: self.id.clone(), redirect: REDIRECT.to_owned() }
    }
}

async fn document(State(site): State<Arc<Mutex<Site>>>) -> Result<Json<Value>, StatusCode> {
    let mut site = site.lock().unwrap();
    site.requests += 1;
    match site.is_down {
        true => Err(StatusCode::SERVICE_UNAVAILABLE),
        false => Ok(Json(site.document.clone())),
    }
}

/// A gateway with a profile that fetches documents from this machine.
async fn server() -> TestGateway {
    let house = configured(OAuthConfig { private_addresses: true, ..Default::default() }).await;
    let rules = json!({"tools": ["weather", "echo"], "tool": {"echo": {"name": "say"}}});
    let rules = ProfileRules::new(serde_json::from_value(rules).unwrap()).unwrap();
    house.executor.tools().set_profiles([("home".to_owned(), rules)].into());
    house
}

/// Lets the time pass that documents, or failures, are cached for.
async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

/// What a person sees who has signed in.
async fn seen(client: &OAuthClient<'_>, token: &str, more: &[(&str, &str)]) -> Page {
    client.consent_page(&mut client.browser(), token, more).await
}

fn is_refused(page: &Page, reason: &str) {
    assert_eq!((page.status, page.location()), (400, None), "{}", page.text);
    assert!(page.text.contains(reason), "{}", page.text);
    // The browser is not even offered the way to an address that nobody vouches for.
    assert!(!page.text.contains("href=\"http"), "{}", page.text);
}

// AU-4: from the request to the refresh, for a profile.
#[tokio::test]
async fn a_metadata_document_lets_a_client_in() {
    let (house, site) = (server().await, ClientSite::start().await);
    let (client, ada) = (site.client(&house), house.token("ada", &["*"]));
    let resource = house.url("/mcp/home");
    let wanted = [("resource", resource.as_str())];
    let mut browser = client.browser();
    let page = client.consent_page(&mut browser, &ada, &wanted).await;
    let shown = format!("of <strong>localhost</strong> (<code>{}</code>)", site.id);
    for word in ["<strong>Claude</strong>", &shown, "<code>home</code>", "say", "weather"] {
        assert!(page.text.contains(word), "{word}: {}", page.text);
    }
    assert!(!page.text.contains("nobody vouches"), "{}", page.text);
    let page = browser.submit(&page.form("/oauth/authorize").with("decision", "allow")).await;
    let code = returned(&page)["code"].as_str().unwrap().to_owned();
    let (status, tokens) = client.exchange(&code, &wanted).await;
    assert_eq!(status, 200, "{tokens}");
    let (first, refresh) = pair(&tokens);
    let (status, tokens) = client.refresh(&refresh).await;
    assert_eq!(status, 200, "{tokens}");
    let (second, _) = pair(&tokens);
    for access in [&first, &second] {
        let seen = listed(&house, "/mcp/home", access).await;
        assert_eq!(seen, Ok(vec!["say".into(), "weather".into()]));
        assert_eq!(listed(&house, "/mcp", access).await, Err(401));
    }
    let entries = house.tokens.all();
    let entry = entries.iter().find(|token| token.entry().name == "oauth:claude");
    let entry = entry.unwrap().entry();
    assert_eq!(entry.profile.as_deref(), Some("home"));
    assert_eq!(site.with(|site| site.requests), 1, "the pages of one sign-in share a document");
}

// AU-4: the document decides anew for each sign-in, and what a person allowed before stays.
#[tokio::test]
async fn a_changed_metadata_document_is_followed() {
    let (house, site) = (server().await, ClientSite::start().await);
    let (mut client, ada) = (site.client(&house), house.token("ada", &["*"]));
    let (_, refresh) = client.tokens(&ada, &[]).await;
    let code = client.code(&ada, &[]).await;

    let moved = "https://client.example/callback/new";
    site.publish("Claude 2", moved);
    later(601).await;
    is_refused(&seen(&client, &ada, &[]).await, "not an address that the client");
    let back = seen(&client, &ada, &[("redirect_uri", moved)]).await;
    assert_eq!(back.status, 200, "{}", back.text);
    // A code belongs to the address that it was sent to.
    let (status, error) = client.exchange(&code, &[("redirect_uri", moved)]).await;
    assert_eq!((status, &error["error"]), (400, &json!("invalid_grant")));
    client.redirect = moved.to_owned();
    let page = seen(&client, &ada, &[]).await;
    assert!(page.text.contains("<strong>Claude 2</strong>"), "{}", page.text);
    let (status, tokens) = client.refresh(&refresh).await;
    assert_eq!(status, 200, "{tokens}");

    // A document that has become another client's is nobody's here.
    site.with(|site| site.document["client_id"] = "https://other.example/client.json".into());
    later(601).await;
    is_refused(&seen(&client, &ada, &[]).await, "another client");
}

// AU-4
#[tokio::test]
async fn a_client_whose_document_is_unreachable_is_let_in_when_it_is_back() {
    let (house, site) = (server().await, ClientSite::start().await);
    let (client, ada) = (site.client(&house), house.token("ada", &["*"]));
    let (_, refresh) = client.tokens(&ada, &[]).await;
    site.with(|site| site.is_down = true);
    // What is cached serves for ten minutes.
    assert_eq!(seen(&client, &ada, &[]).await.status, 200);
    later(601).await;
    is_refused(&seen(&client, &ada, &[]).await, "503");
    // Who was let in needs no document.
    let (status, tokens) = client.refresh(&refresh).await;
    assert_eq!(status, 200, "{tokens}");
    // It is not asked for again at once, so that nobody can have it asked for over and over.
    site.with(|site| (site.is_down, site.requests) = (false, 0));
    is_refused(&seen(&client, &ada, &[]).await, "503");
    assert_eq!(site.with(|site| site.requests), 0);
    later(11).await;
    client.tokens(&ada, &[]).await;
}
