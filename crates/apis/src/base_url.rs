//! Where the requests of an API go.

use reqwest::Url;
use serde_json::Value;

use crate::{
    config::{ApiConfig, http_url},
    document::{ApiDocument, Version, members},
};

/// Returns the URL that paths are added to: `base_url`, or the first server of the description.
///
/// # Errors
/// The address is missing, or the description was fetched and names another origin: headers of the config must not go
/// where only the description says.
pub(crate) fn of(document: &ApiDocument, config: &ApiConfig) -> Result<Url, String> {
    if let Some(base) = config.base()? {
        return Ok(base);
    }
    let fetched = config.description_url()?;
    let server = match document.version {
        Version::Swagger2 => of_swagger(document, fetched.as_ref()),
        _ => server_of(&document.root).unwrap_or_else(|| "/".to_owned()),
    };
    let url = resolved(&server, fetched.as_ref()).ok_or_else(|| {
        format!("its server is `{server}`, which is not a complete URL: set `base_url`")
    })?;
    match fetched {
        Some(fetched) if fetched.origin() != url.origin() => Err(format!(
            "its server is at another origin, {}: set `base_url` to it, if requests and headers may go there",
            url.origin().ascii_serialization()
        )),
        _ => Ok(url),
    }
}

/// Checks that an operation, or its path, names no other server than the API's.
///
/// # Errors
/// It does: requests and headers are not meant for that one.
pub(crate) fn check_operation(
    part: &Value,
    base: &Url,
    document: &ApiDocument,
) -> Result<(), String> {
    let Some(server) = server_of(part) else { return Ok(()) };
    let is_same = |url: &str| url.trim_end_matches('/') == base.as_str().trim_end_matches('/');
    if server_of(&document.root).as_deref() == Some(&server) || is_same(&server) {
        return Ok(());
    }
    let shown = switchboard_toolcall::text::one_line(&server.chars().take(100).collect::<String>());
    Err(format!(
        "its server is `{shown}`, not the API's: an API of its own with that `base_url` can call it"
    ))
}

/// Returns the first server, with the defaults of its variables.
fn server_of(part: &Value) -> Option<String> {
    let server = part.get("servers")?.as_array()?.first()?;
    let mut url = server.get("url")?.as_str()?.to_owned();
    for (name, variable) in members(server.get("variables")) {
        let value = variable.get("default").and_then(Value::as_str).unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), value);
    }
    Some(url)
}

fn of_swagger(document: &ApiDocument, fetched: Option<&Url>) -> String {
    let text = |key: &str| document.root.get(key).and_then(Value::as_str);
    let path = text("basePath").unwrap_or("/");
    let Some(host) = text("host") else { return path.to_owned() };
    let schemes = document.root.get("schemes").and_then(Value::as_array);
    let schemes: Vec<_> = schemes.into_iter().flatten().filter_map(Value::as_str).collect();
    let usual = fetched.map_or("https", Url::scheme);
    let scheme = match &schemes[..] {
        [] => usual,
        some if some.contains(&usual) => usual,
        [first, ..] => first,
    };
    format!("{scheme}://{host}{path}")
}

fn resolved(server: &str, fetched: Option<&Url>) -> Option<Url> {
    let mut url = match fetched {
        Some(fetched) => fetched.join(server).ok()?,
        None => http_url(server).ok()?,
    };
    url.set_query(None);
    url.set_fragment(None);
    matches!(url.scheme(), "http" | "https").then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(openapi: &str, base: Option<&str>, document: &str) -> Result<String, String> {
        let config = ApiConfig {
            openapi: openapi.to_owned(),
            base_url: base.map(str::to_owned),
            ..ApiConfig::default()
        };
        of(&ApiDocument::parse(document).unwrap(), &config).map(|url| url.to_string())
    }

    // TK-3
    #[test]
    fn requests_go_to_the_first_server() {
        let servers = "openapi: 3.0.0\npaths: {}\nservers: [{url: 'https://{region}.x.example/v1/', variables: {region: {default: eu}}}]\n";
        let none = "openapi: 3.1.0\npaths: {}\n";
        let relative = "openapi: 3.0.0\npaths: {}\nservers: [{url: /v2}]\n";
        let swagger = "swagger: '2.0'\npaths: {}\nhost: x.example:8080\nbasePath: /v1\nschemes: [http, https]\n";
        for (openapi, base, document, expected) in [
            ("a.yaml", None, servers, Ok("https://eu.x.example/v1/")),
            ("a.yaml", Some("http://127.0.0.1:4010"), servers, Ok("http://127.0.0.1:4010/")),
            ("https://eu.x.example/openapi.json", None, servers, Ok("https://eu.x.example/v1/")),
            (
                "https://docs.example/openapi.json",
                None,
                servers,
                Err("another origin, https://eu.x.example: set `base_url`"),
            ),
            (
                "https://docs.example/openapi.json",
                Some("https://eu.x.example"),
                servers,
                Ok("https://eu.x.example/"),
            ),
            ("https://x.example/a/openapi.json?x=y", None, none, Ok("https://x.example/")),
            ("https://x.example/a/openapi.json", None, relative, Ok("https://x.example/v2")),
            ("a.yaml", None, relative, Err("set `base_url`")),
            ("a.yaml", None, none, Err("set `base_url`")),
            ("a.yaml", None, swagger, Ok("https://x.example:8080/v1")),
            ("http://x.example:8080/d", None, swagger, Ok("http://x.example:8080/v1")),
            (
                "a.yaml",
                None,
                "openapi: 3.0.0\npaths: {}\nservers: [{url: 'file:///etc/passwd'}]\n",
                Err("not a complete URL"),
            ),
        ] {
            let found = check(openapi, base, document);
            match expected {
                Ok(url) => assert_eq!(found.as_deref(), Ok(url)),
                Err(says) => {
                    assert!(found.as_ref().is_err_and(|error| error.contains(says)), "{found:?}")
                }
            }
        }
    }
}
