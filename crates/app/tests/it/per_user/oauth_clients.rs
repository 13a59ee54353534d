//! A client of `[serve.oauth]` at a gateway whose server each caller signs in to.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Browser, PerUserSetup, accounts::Accounts, bearer, note_secret, parameters};
use crate::test_folder::TestFolder;

const REDIRECT: &str = "http://127.0.0.1:9/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Fields of the form on a page that leads to `action`, as a browser sends them.
fn form(page: &str, action: &str) -> String {
    let (_, rest) =
        page.split_once(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("{page}"));
    let inputs = rest.split("</form>").next().unwrap().split("<input").skip(1);
    let value = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        Some(rest.split('"').next()?.replace("&amp;", "&"))
    };
    let is_sent = |tag: &&str| !tag.contains("checkbox") || tag.contains(" checked");
    let fields = inputs.map(|tag| tag.split('>').next().unwrap()).filter(is_sent);
    let fields = fields.filter_map(|tag| Some((value(tag, "name")?, value(tag, "value")?)));
    encoded(fields)
}

/// Returns pairs as a query or a form.
fn encoded(pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> String {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pair = |(name, value): (_, _)| {
        format!("{}={}", encode(AsRef::as_ref(&name)), encode(AsRef::as_ref(&value)))
    };
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Registers a client, and lets it in as the bearer of `token`. Returns the client's access token.
fn let_in(setup: &PerUserSetup, token: &str) -> String {
    let origin = format!("http://{}", setup.gateway.address);
    let metadata = json!({"client_name": "A chat", "redirect_uris": [REDIRECT]}).to_string();
    let (_, client) = setup.gateway.ask("POST", "/oauth/register", "", &metadata);
    let id = client["client_id"].as_str().unwrap_or_else(|| panic!("{client}"));
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let pairs = [
        ("response_type", "code"),
        ("client_id", id),
        ("redirect_uri", REDIRECT),
        ("state", "s"),
        ("resource", &origin),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let url = format!("{origin}/oauth/authorize?{}", encoded(pairs));
    let mut browser = Browser::default();
    let page = browser.get(&url);
    let sign_in = form(&page.body, "/oauth/sign-in");
    let signed_in =
        browser.post(&format!("{origin}/oauth/sign-in"), &format!("{sign_in}&token={token}"));
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let page = browser.get(&url);
    let consent = form(&page.body, "/oauth/authorize");
    let back =
        browser.post(&format!("{origin}/oauth/authorize"), &format!("{consent}&decision=allow"));
    let back = back.location();
    let code = parameters(back.split_once('?').unwrap().1).remove("code").expect("a code");
    note_secret(&code);
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", id),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ];
    let tokens = browser.post(&format!("{origin}/oauth/token"), &encoded(pairs));
    let tokens: Value = serde_json::from_str(&tokens.body).unwrap_or_else(|_| panic!("{tokens:?}"));
    let text = |name: &str| tokens[name].as_str().unwrap_or_else(|| panic!("{tokens}")).to_owned();
    note_secret(&text("refresh_token"));
    let access = text("access_token");
    note_secret(&access);
    access
}

// AU-3, AU-4: it calls with the sign-in of the person, and can neither make one nor replace it.
#[test]
fn a_client_cannot_sign_in_for_the_person_who_let_it_in() {
    let accounts = Accounts::start();
    let folder = TestFolder::with_config(&format!(
        "[mcp]\nretry_attempts = 1\n[serve]\nrequire_token = true\n[serve.oauth]\n\
         [servers.docs]\nurl = \"{}/mcp\"\nprotocol = \"legacy\"\nauth = \"user\"\n",
        accounts.origin
    ));
    let setup = PerUserSetup::new(accounts, folder);
    let ada = setup.token("ada");
    let client = let_in(&setup, &ada);
    let address = setup.address(&client, "docs__sign_in");
    let mut browser = Browser::default();
    let visit = browser.post(&address, &format!("token={client}"));
    assert_eq!(visit.status, 403, "{visit:?}");
    // Nor as who it is for REST.
    browser.headers = bearer(&client);
    let visit = browser.post(&address, "");
    assert_ne!(visit.status, 303, "{visit:?}");
    assert_eq!(setup.whoami(&client), "not_found");
    assert_eq!(setup.accounts.known().opened.len(), 0);
    let visit = Browser::default().sign_in(&address, &ada, "ada");
    assert_eq!(visit.status, 200, "{visit:?}");
    assert_eq!(setup.whoami(&client), "account ada");
    assert_eq!(setup.accounts.known().violations, Vec::<String>::new());
}
