//! An authorization server and the MCP server behind it, both on one address.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::digest;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

pub(crate) type Parameters = BTreeMap<String, String>;

/// What the server has issued and received, and how it is to misbehave.
#[derive(Default)]
pub(crate) struct ServerState {
    pub(crate) origin: String,
    /// Replaces members of the authorization server's metadata.
    pub(crate) metadata: Value,
    /// Replaces members of the resource's metadata.
    pub(crate) resource_metadata: Value,
    /// Replaces members of what a registration is answered with.
    pub(crate) registration: Value,
    /// Replaces parameters of the redirect; `null` removes one.
    pub(crate) redirect: Value,
    /// How long access tokens are good, in seconds.
    pub(crate) lifetime: u64,
    codes: BTreeMap<String, Parameters>,
    pub(crate) clients: BTreeMap<String, Vec<String>>,
    refresh_tokens: BTreeSet<String>,
    used: BTreeSet<String>,
    pub(crate) access_tokens: BTreeSet<String>,
    pub(crate) requested_scopes: Vec<String>,
    pub(crate) refreshes: u32,
    /// What a refresh is answered with, in place of tokens.
    pub(crate) refresh_answer: Option<(u16, &'static str)>,
    /// Refreshes are answered only while this is `false`.
    pub(crate) hangs: watch::Sender<bool>,
    /// Every request for tokens: its form, and its headers.
    pub(crate) requests: Vec<(Parameters, HeaderMap)>,
    /// Whether tokens are bound to the key of a proof, which must have a nonce.
    pub(crate) binds: bool,
    pub(crate) revoked: Vec<String>,
    /// Where the device flow sends people who need not type anything.
    pub(crate) complete_uri: Option<&'static str>,
    /// Device codes, and how often they are still pending.
    pub(crate) pending: u32,
    /// What clients that ask for themselves are refused with.
    pub(crate) refuses: Option<&'static str>,
    /// Replaces claims of the ID token; none is given if it is no object.
    pub(crate) id_token: Value,
    /// Replaces members of an identity provider's answer.
    pub(crate) idp_answer: Value,
    client: String,
    count: u32,
}

impl ServerState {
    fn name(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}-secret-value-{}", self.count)
    }

    /// Ends all sign-ins.
    pub(crate) fn end_all(&mut self) {
        self.access_tokens.clear();
        self.refresh_tokens.clear();
    }

    fn tokens(&mut self, scope: Option<String>) -> Response {
        let (access, refresh) = (self.name("access"), self.name("refresh"));
        self.access_tokens.insert(access.clone());
        self.refresh_tokens.insert(refresh.clone());
        let kind = if self.binds { "DPoP" } else { "bearer" };
        let mut body = json!({
            "access_token": access, "token_type": kind, "expires_in": self.lifetime, "refresh_token": refresh,
        });
        if self.id_token.is_object() {
            let claims = merged(json!({"iss": self.origin, "aud": self.client}), &self.id_token).0;
            body["id_token"] =
                format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string())).into();
        }
        if let Some(scope) = scope {
            body["scope"] = scope.into();
        }
        Json(body).into_response()
    }
}

impl ServerState {
    /// Tokens for a code, with an ID token if that is wanted.
    fn tokens_for(&mut self, asked: &Parameters) -> Response {
        self.client = asked["client_id"].clone();
        self.tokens(asked.get("scope").cloned())
    }

    /// What clients get for themselves: nothing to renew it with.
    fn access_only(&mut self) -> Response {
        if let Some(code) = self.refuses {
            return refused(code);
        }
        let access = self.name("access");
        self.access_tokens.insert(access.clone());
        Json(json!({"access_token": access, "token_type": "Bearer", "expires_in": self.lifetime}))
            .into_response()
    }

    /// What an identity provider gives.
    fn identity_assertion(&mut self) -> Response {
        let grant = self.name("id-jag");
        let kind = "urn:ietf:params:oauth:token-type:id-jag";
        let body = json!({"access_token": grant, "issued_token_type": kind, "token_type": "N_A"});
        merged(body, &self.idp_answer).into_response()
    }
}

/// A claim of the proof in the headers; empty if there is none.
pub(crate) fn proof_claim(headers: &HeaderMap, name: &str) -> String {
    let proof = headers.get("DPoP").map(|value| value.to_str().unwrap().to_owned());
    let part = proof.as_ref().and_then(|proof| proof.split('.').nth(1));
    let claims = part.map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
    claims[name].as_str().unwrap_or_default().to_owned()
}

#[derive(Clone)]
pub(crate) struct AuthorizationServer(Arc<Mutex<ServerState>>);

impl AuthorizationServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let known = ServerState { origin, lifetime: 3600, ..ServerState::default() };
        let server = Self(Arc::new(Mutex::new(known)));
        let routes = Router::new()
            .route("/mcp", get(resource).post(resource))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource_metadata))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/device", post(device))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .with_state(server.clone());
        tokio::spawn(async { axum::serve(listener, routes).await.unwrap() });
        server
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut ServerState) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub(crate) fn origin(&self) -> String {
        self.with(|known| known.origin.clone())
    }

    pub(crate) fn resource(&self) -> String {
        format!("{}/mcp", self.origin())
    }
}

fn merged(mut body: Value, with: &Value) -> Json<Value> {
    for (name, value) in with.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    Json(body)
}

async fn resource(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Response {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if token.is_some_and(|token| server.with(|known| known.access_tokens.contains(token))) {
        return "welcome".into_response();
    }
    let challenge = "Bearer error=\"invalid_token\", scope=\"read\"";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
}

async fn resource_metadata(State(server): State<AuthorizationServer>) -> Json<Value> {
    let body = json!({"resource": server.resource(), "authorization_servers": [server.origin()]});
    merged(body, &server.with(|known| known.resource_metadata.clone()))
}

async fn metadata(State(server): State<AuthorizationServer>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", server.origin());
    let body = json!({
        "issuer": server.origin(),
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "registration_endpoint": at("/register"),
        "revocation_endpoint": at("/revoke"),
        "device_authorization_endpoint": at("/device"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": ["read", "offline_access"],
    });
    merged(body, &server.with(|known| known.metadata.clone()))
}

async fn register(State(server): State<AuthorizationServer>, Json(body): Json<Value>) -> Response {
    let redirects: Vec<String> = serde_json::from_value(body["redirect_uris"].clone()).unwrap();
    let (id, changes) = server.with(|known| {
        let id = known.name("client");
        known.clients.insert(id.clone(), redirects);
        (id, known.registration.clone())
    });
    let registered = json!({"client_id": id, "token_endpoint_auth_method": "none"});
    (StatusCode::CREATED, merged(registered, &changes)).into_response()
}

async fn authorize(
    State(server): State<AuthorizationServer>,
    Query(asked): Query<Parameters>,
) -> Response {
    let (code, changes, origin) = server.with(|known| {
        let redirects = &known.clients[&asked["client_id"]];
        assert!(redirects.contains(&asked["redirect_uri"]), "{asked:?}");
        assert_eq!(asked["code_challenge_method"], "S256");
        assert!(asked["state"].len() >= 22, "128 bits");
        known.requested_scopes = asked
            .get("scope")
            .map(|s| s.split(' ').map(str::to_owned).collect())
            .unwrap_or_default();
        let code = known.name("code");
        known.codes.insert(code.clone(), asked.clone());
        (code, known.redirect.clone(), known.origin.clone())
    });
    let mut parameters = BTreeMap::from(
        [("code", code), ("state", asked["state"].clone()), ("iss", origin)]
            .map(|(k, v)| (k.to_owned(), v)),
    );
    for (name, value) in changes.as_object().into_iter().flatten() {
        match value.as_str() {
            Some(text) => _ = parameters.insert(name.clone(), text.to_owned()),
            None => _ = parameters.remove(name),
        }
    }
    let mut url = url::Url::parse(&asked["redirect_uri"]).unwrap();
    url.query_pairs_mut().extend_pairs(&parameters);
    Redirect::to(url.as_str()).into_response()
}

async fn device(State(server): State<AuthorizationServer>, body: String) -> Json<Value> {
    assert_eq!(parameters(&body)["resource"], server.resource());
    let uri = format!("{}/activate", server.origin());
    let mut body = json!({
        "device_code": "device-secret-value", "user_code": "ABCD-EFGH", "verification_uri": uri, "expires_in": 600, "interval": 1,
    });
    if let Some(complete) = server.with(|known| known.complete_uri) {
        body["verification_uri_complete"] = complete.into();
    }
    Json(body)
}

fn parameters(form: &str) -> Parameters {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

fn refused(code: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({"error": code}))).into_response()
}

async fn token(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let (resource, form) = (server.resource(), parameters(&body));
    let lacks_nonce = server.with(|known| {
        known.requests.push((form.clone(), headers.clone()));
        known.binds && proof_claim(&headers, "nonce") != "as-nonce"
    });
    if lacks_nonce {
        let nonce = [("DPoP-Nonce", "as-nonce")];
        return (StatusCode::BAD_REQUEST, nonce, Json(json!({"error": "use_dpop_nonce"})))
            .into_response();
    }
    if form["grant_type"] == "refresh_token" {
        let mut hangs = server.with(|known| known.hangs.subscribe());
        hangs.wait_for(|hangs| !hangs).await.unwrap();
        if let Some((status, body)) = server.with(|known| known.refresh_answer) {
            return (StatusCode::from_u16(status).unwrap(), body).into_response();
        }
    }
    if form["grant_type"].ends_with(":token-exchange") && form.contains_key("audience") {
        return server.with(|known| known.identity_assertion());
    }
    if form.get("resource") != Some(&resource) {
        return refused("invalid_target");
    }
    server.with(|known| match form["grant_type"].as_str() {
        "authorization_code" => {
            let Some(asked) = known.codes.remove(&form["code"]) else {
                return refused("invalid_grant");
            };
            let verifier = digest::digest(&digest::SHA256, form["code_verifier"].as_bytes());
            let fits = asked["code_challenge"] == URL_SAFE_NO_PAD.encode(verifier)
                && asked["redirect_uri"] == form["redirect_uri"]
                && asked["client_id"] == form["client_id"]
                && asked["resource"] == form["resource"];
            if fits { known.tokens_for(&asked) } else { refused("invalid_grant") }
        }
        "refresh_token" => {
            let given = form["refresh_token"].clone();
            if known.used.contains(&given) {
                known.end_all();
            }
            if !known.refresh_tokens.remove(&given) {
                return refused("invalid_grant");
            }
            known.used.insert(given);
            known.refreshes += 1;
            known.tokens(None)
        }
        "client_credentials"
        | "urn:ietf:params:oauth:grant-type:jwt-bearer"
        | "urn:ietf:params:oauth:grant-type:token-exchange" => known.access_only(),
        _ if known.pending > 0 => {
            known.pending -= 1;
            refused(if known.pending == 0 { "slow_down" } else { "authorization_pending" })
        }
        _ => known.tokens(None),
    })
}

async fn revoke(State(server): State<AuthorizationServer>, body: String) -> StatusCode {
    let form = parameters(&body);
    server.with(|known| {
        known.access_tokens.remove(&form["token"]);
        known.revoked.push(form["token_type_hint"].clone());
    });
    StatusCode::OK
}
