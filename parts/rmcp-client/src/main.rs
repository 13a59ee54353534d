//! rmcp, the official Rust SDK, with its own OAuth: `rmcp-client auto|legacy|2026-07-28 URL BROWSER…`.
//!
//! Prints what it saw as one line of JSON: with a new client, and with its tokens in another session. rmcp exchanges tokens that end
//! within 30 seconds ahead of each request.

use std::{env, error::Error, process::Stdio, sync::Arc};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
    service::RunningService,
    transport::{
        AuthClient, AuthorizationManager, AuthorizationRequest, StreamableHttpClientTransport,
        auth::OAuthState, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use tokio::process::Command;

/// Nobody listens there: the browser prints where it was sent.
const REDIRECT: &str = "http://127.0.0.1:3032/callback";

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Opens pages, and counts them.
struct Person<'a> {
    browser: &'a [String],
    opened: u32,
    went_to: String,
}

impl Person<'_> {
    async fn open(&mut self, address: &str) -> Outcome {
        self.opened += 1;
        let (program, words) = self.browser.split_first().ok_or("no browser")?;
        let mut browser = Command::new(program);
        browser.args(words).arg(address).stderr(Stdio::inherit());
        let output = browser.output().await?;
        if !output.status.success() {
            return Err(format!("the browser failed: {}", output.status).into());
        }
        self.went_to = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok(())
    }
}

/// A client that is signed in, and how it begins sessions.
struct Client<'a> {
    auth: AuthClient<reqwest::Client>,
    url: &'a str,
    mode: ClientLifecycleMode,
}

impl Client<'_> {
    async fn connect(&self) -> Outcome<RunningService<RoleClient, ()>> {
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.to_owned());
        let transport = StreamableHttpClientTransport::with_client(self.auth.clone(), config);
        Ok(().serve_with_lifecycle(transport, self.mode.clone()).await?)
    }

    /// The tokens as the server sent them.
    async fn tokens(&self) -> Outcome<Value> {
        let manager = Arc::clone(&self.auth.auth_manager);
        let (_, tokens) = manager.lock().await.get_credentials().await?;
        Ok(serde_json::to_value(tokens.ok_or("no tokens")?)?)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = env::args().skip(1).collect();
    let [mode, url, browser @ ..] = &words[..] else { return Err("no mode and address".into()) };
    let mut person = Person { browser, opened: 0, went_to: String::new() };
    let manager = sign_in(url, &mut person).await?;
    let auth = AuthClient::new(reqwest::Client::new(), manager);
    let client = Client { auth, url, mode: lifecycle(mode)? };

    let one = client.tokens().await?;
    let session = client.connect().await?;
    let mut texts = vec![compute(&session).await?, compute(&session).await?];
    session.cancel().await?;
    let session = client.connect().await?;
    texts.push(compute(&session).await?);
    session.cancel().await?;
    let other = client.tokens().await?;

    let secrets: Vec<_> = [&one, &other]
        .into_iter()
        .flat_map(|both| [&both["access_token"], &both["refresh_token"]])
        .collect();
    let seen = json!({
        "texts": texts,
        "pages": person.opened,
        "secrets": secrets,
        "rotated": one["refresh_token"] != other["refresh_token"],
        "went_to": person.went_to,
    });
    println!("{seen}");
    Ok(())
}

fn lifecycle(mode: &str) -> Outcome<ClientLifecycleMode> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "legacy" => Ok(ClientLifecycleMode::Initialize),
        "auto" => Ok(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }),
        "2026-07-28" => Ok(ClientLifecycleMode::Discover { preferred_versions }),
        _ => Err(format!("no mode `{mode}`").into()),
    }
}

/// Registers, and has the person consent.
async fn sign_in(url: &str, person: &mut Person<'_>) -> Outcome<AuthorizationManager> {
    let mut state = OAuthState::new(url, None).await?;
    let request = AuthorizationRequest::new(REDIRECT).with_client_name("Rust SDK");
    state.start_authorization(request).await?;
    person.open(&state.get_authorization_url().await?).await?;
    state.handle_callback_url(&person.went_to).await?;
    Ok(state.into_authorization_manager().ok_or("nobody is signed in")?)
}

async fn compute(session: &RunningService<RoleClient, ()>) -> Outcome<Value> {
    let arguments = json!({"expression": "6 * 7"}).as_object().cloned().unwrap_or_default();
    let call = CallToolRequestParams::new("math_eval").with_arguments(arguments);
    let called = serde_json::to_value(session.call_tool(call).await?)?;
    Ok(called["content"][0]["text"].clone())
}
