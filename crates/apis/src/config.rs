//! `[apis.NAME]`.

use std::{collections::BTreeMap, path::Path};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderValue},
};
use serde::Deserialize;
use switchboard_local::http::header_name;
use switchboard_oauth::{OauthConfig, ServerAuth};
use switchboard_toolcall::ToolPatterns;

/// The longest name of an API: enough is left for the names of its operations.
const LONGEST_NAME: usize = 32;

/// An HTTP API whose operations are tools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiConfig {
    /// The description: a file, relative to the config's folder, or a URL; OpenAPI 3.0 or 3.1 or Swagger 2, JSON or YAML.
    pub openapi: String,
    /// The operations that become tools, as globs over their ids, their tools' names, or `GET /path`; all, if unset.
    #[serde(default)]
    pub include: Vec<String>,
    /// The operations that do not become tools, as globs.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Where requests go, if not where the description says.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Headers of every request, such as `Authorization`. They are not sent to fetch the description from another origin.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether a request that is repeated with its `Idempotency-Key` has no second effect.
    #[serde(default)]
    pub honours_keys: bool,
    /// Whose sign-in its requests have.
    #[serde(default)]
    pub auth: ServerAuth,
    /// How to sign in to it, if it wants that.
    #[serde(default)]
    pub oauth: OauthConfig,
}

impl ApiConfig {
    /// Checks everything that can be checked without the description.
    ///
    /// # Errors
    /// Says which key cannot be used, and why.
    pub fn check(&self, name: &str, separator: &str) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(format!(
                "its name must have 1 to {LONGEST_NAME} letters, digits, `_` or `-`"
            ));
        }
        if name.contains(separator) {
            return Err(format!("its name must not have `{separator}` in it"));
        }
        if self.openapi.trim().is_empty() {
            return Err("`openapi`: a file or a URL".to_owned());
        }
        self.description_url()?;
        self.base()?;
        self.patterns()?;
        self.header_map()?;
        self.auth.check("apis", &self.oauth)?;
        match self.auth {
            // An API that has other credentials is not signed in to.
            ServerAuth::Shared => Ok(()),
            _ => self.auth.check_credentials(
                self.headers.keys(),
                "base_url",
                self.base_url.as_deref(),
            ),
        }
    }

    /// Whether requests may have the token of a sign-in: other credentials in the settings would be sent instead.
    pub fn is_signed_in_to(&self, base: &Url) -> bool {
        let has_user = !base.username().is_empty() || base.password().is_some();
        let is_credential = |name: &String| name.eq_ignore_ascii_case("authorization");
        !has_user && !self.headers.keys().any(is_credential)
    }

    /// Whether each caller has credentials of its own.
    pub fn is_per_caller(&self) -> bool {
        self.auth.is_per_caller(&self.oauth)
    }

    /// Takes a file as relative to `folder`.
    pub fn set_folder(&mut self, folder: &Path) {
        if !self.openapi.contains("://") && !self.openapi.trim().is_empty() {
            self.openapi = folder.join(&self.openapi).display().to_string();
        }
    }

    /// Returns the URL of the description; `None` if it is a file.
    pub(crate) fn description_url(&self) -> Result<Option<Url>, String> {
        let is_url = self.openapi.contains("://");
        let url = is_url.then(|| http_url(&self.openapi)).transpose();
        url.map_err(|problem| format!("`openapi`: {problem}"))
    }

    /// Returns `base_url`, without the `/` at its end.
    pub(crate) fn base(&self) -> Result<Option<Url>, String> {
        let Some(text) = &self.base_url else { return Ok(None) };
        let url = http_url(text).map_err(|problem| format!("`base_url`: {problem}"))?;
        match url.query().is_some() || url.fragment().is_some() {
            true => Err("`base_url`: it must have no `?` or `#`".to_owned()),
            false => Ok(Some(url)),
        }
    }

    /// Returns `include`, if it is set, and `exclude`.
    pub(crate) fn patterns(&self) -> Result<(Option<ToolPatterns>, ToolPatterns), String> {
        let read = |key: &str, globs: &[String]| {
            ToolPatterns::new(globs).map_err(|error| format!("`{key}`: {error}"))
        };
        let include = (!self.include.is_empty()).then(|| read("include", &self.include));
        Ok((include.transpose()?, read("exclude", &self.exclude)?))
    }

    /// Returns the headers.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let wrong = |problem: &str| format!("`headers.{name}`: {problem}");
            let header = header_name(name).map_err(wrong)?;
            let value = HeaderValue::from_bytes(value.as_bytes())
                .map_err(|_| wrong("a header has no line breaks or control characters"))?;
            headers.insert(header, value);
        }
        Ok(headers)
    }
}

/// Parses a URL of HTTP.
pub(crate) fn http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    match matches!(url.scheme(), "http" | "https") && url.has_host() {
        true => Ok(url),
        false => Err("it must begin with `http://` or `https://`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TK-3
    #[test]
    fn what_cannot_be_used_is_named() {
        let config = |text: &str| -> ApiConfig { serde_json::from_str(text).unwrap() };
        let check = |text: &str| config(text).check("api", "__").unwrap_err();
        for (text, says) in [
            (r#"{"openapi":" "}"#, "`openapi`: a file or a URL"),
            (r#"{"openapi":"ftp://x/y"}"#, "`openapi`: it must begin with"),
            (r#"{"openapi":"a","base_url":"x"}"#, "`base_url`: "),
            (r#"{"openapi":"a","base_url":"http://x/?a=b"}"#, "must have no `?`"),
            (r#"{"openapi":"a","include":["["]}"#, "`include`: "),
            (r#"{"openapi":"a","exclude":["{"]}"#, "`exclude`: "),
            (
                r#"{"openapi":"a","headers":{"a b":"c"}}"#,
                "`headers.a b`: this is not a valid header name",
            ),
            (r#"{"openapi":"a","headers":{"Content-Length":"9"}}"#, "set as the request needs it"),
            (r#"{"openapi":"a","headers":{"X":"a\r\nb: c"}}"#, "no line breaks"),
            (
                r#"{"openapi":"a","auth":"client"}"#,
                "auth = \"client\": [apis.NAME.oauth] needs `client_id`",
            ),
            (
                r#"{"openapi":"a","auth":"user","headers":{"authorization":"x"}}"#,
                "auth = \"user\": its `headers` have an `Authorization`",
            ),
            (
                r#"{"openapi":"a","auth":"user","base_url":"https://me:pw@x.example"}"#,
                "its `base_url` has a user or a password",
            ),
        ] {
            assert!(check(text).contains(says), "{}", check(text));
        }
        let good = config(r#"{"openapi":"a.yaml","headers":{"Authorization":"Bearer x"}}"#);
        assert_eq!(good.check("git-hub_1", "__"), Ok(()));
        for name in ["", "a__b", "a b", "\u{202e}", &"a".repeat(33)] {
            assert!(good.check(name, "__").is_err(), "{name}");
        }
    }
}
