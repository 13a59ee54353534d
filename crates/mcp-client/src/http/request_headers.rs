//! The headers of requests, by era and session.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use percent_encoding::percent_decode_str;
use switchboard_mcp_wire::{Era, eras};
use url::Url;

use super::HttpConfigError;
use crate::transport::Failure;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// The header that carries the id of a session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The first revision whose requests carry `MCP-Protocol-Version`.
const NAMES_VERSION: &str = "2025-06-18";

/// The era and the session, with the headers that follow from them built once.
pub(super) struct HttpState {
    era: Option<Era>,
    session: Option<HeaderValue>,
    /// The headers of the settings, without those of MCP.
    configured: HeaderMap,
    /// The headers that all requests of this era and session share.
    current: Arc<HeaderMap>,
}

/// The headers of one request, and what was known about the server when they were built.
pub(super) struct RequestHeaders {
    /// The headers that all requests share.
    pub(super) headers: Arc<HeaderMap>,
    /// The headers of this request only; they replace shared ones of the same name.
    pub(super) own: Vec<(HeaderName, HeaderValue)>,
    /// Whether the server is known to speak the legacy era.
    pub(super) legacy: bool,
    /// Whether the headers name a session.
    pub(super) in_session: bool,
}

impl HttpState {
    /// Creates the state before anything was agreed on.
    pub(super) fn new(configured: HeaderMap) -> Self {
        let current = Arc::new(configured.clone());
        Self { era: None, session: None, current, configured }
    }

    /// Sets the era that was agreed on.
    pub(super) fn set_era(&mut self, era: Era) {
        self.era = Some(era);
        self.rebuild();
    }

    /// Sets the session that the server opened.
    pub(super) fn set_session(&mut self, session: Option<HeaderValue>) {
        self.session = session;
        self.rebuild();
    }

    /// Resets the state, as `initialize` does.
    pub(super) fn forget(&mut self) {
        (self.era, self.session) = (None, None);
        self.rebuild();
    }

    /// Returns the id of the open session.
    pub(super) fn session(&self) -> Option<&HeaderValue> {
        self.session.as_ref()
    }

    /// Returns the headers that every message has.
    pub(super) fn request_headers(&self) -> RequestHeaders {
        RequestHeaders {
            headers: self.current.clone(),
            own: Vec::new(),
            legacy: matches!(self.era, Some(Era::Legacy(_))),
            in_session: self.session.is_some(),
        }
    }

    /// Returns the headers of a message with this method, including those of `more` that the era allows.
    pub(super) fn headers_of(
        &self,
        method: &str,
        more: &[(String, String)],
    ) -> Result<RequestHeaders, Failure> {
        let mut request_headers = self.request_headers();
        let probe = self.era.is_none() && method == "server/discover";
        if probe {
            request_headers.own.push((VERSION, HeaderValue::from_static(eras::MODERN)));
        }
        let is_modern = probe || self.era == Some(Era::Modern);
        if is_modern {
            request_headers.own.push((METHOD, encoded(method)?));
        }
        // `Mcp-*` headers exist only in the modern era; trace headers are sent in every era.
        let more = more.iter().filter(|(name, _)| is_modern || !name.starts_with("Mcp-"));
        for (name, value) in more {
            let name = HeaderName::try_from(name.as_str())
                .map_err(|_| Failure::Protocol(format!("`{name}` cannot be a header's name")))?;
            request_headers.own.push((name, encoded(value)?));
        }
        Ok(request_headers)
    }

    fn rebuild(&mut self) {
        let mut headers = self.configured.clone();
        let version = match &self.era {
            Some(Era::Modern) => Some(HeaderValue::from_static(eras::MODERN)),
            Some(Era::Legacy(version)) if version.as_str() >= NAMES_VERSION => {
                HeaderValue::from_str(version).ok()
            }
            _ => None,
        };
        version.map(|version| headers.insert(VERSION, version));
        self.session.clone().map(|session| headers.insert(SESSION, session));
        self.current = Arc::new(headers);
    }
}

/// Returns the headers of the settings, and those that every message has.
pub(crate) fn configured(
    url: &Url,
    headers: &[(String, String)],
    accept: &'static str,
) -> Result<HeaderMap, HttpConfigError> {
    let mut map = HeaderMap::new();
    if !url.username().is_empty() || url.password().is_some() {
        let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
        let (name, password) = (url.username(), url.password().unwrap_or_default());
        let pair = [decoded(name), b":".to_vec(), decoded(password)].concat();
        let value = format!("Basic {}", BASE64_STANDARD.encode(pair));
        map.extend(HeaderValue::from_str(&value).map(|value| (AUTHORIZATION, value)));
    }
    for (name, value) in headers {
        let pair = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(value).ok());
        let (key, mut value) = pair.ok_or_else(|| HttpConfigError::Header(name.clone()))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    map.insert(ACCEPT, HeaderValue::from_static(accept));
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(map)
}

/// Encodes a header value: in Base64 if it has whitespace at its ends or bytes other than plain text, which would be
/// lost, or if it looks like Base64 already; else unchanged.
fn encoded(value: &str) -> Result<HeaderValue, Failure> {
    let bytes = value.as_bytes();
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let unsafe_bytes = bytes.iter().any(|byte| !(0x20..=0x7e).contains(byte));
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    let header = match unsafe_bytes || looks_encoded || blank(bytes.first()) || blank(bytes.last())
    {
        true => HeaderValue::try_from(format!("=?base64?{}?=", BASE64_STANDARD.encode(value))),
        false => HeaderValue::from_str(value),
    };
    header.map_err(|_| Failure::Protocol("a value cannot be sent as a header".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-1
    #[test]
    fn values_are_encoded_only_where_needed() {
        let cases = [
            ("us-west1", "us-west1"),
            ("", ""),
            ("us west 1", "us west 1"),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("\tindented", "=?base64?CWluZGVudGVk?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("=?base64?", "=?base64?"),
        ];
        for (value, header) in cases {
            assert_eq!(encoded(value).unwrap(), header, "{value:?}");
        }
    }

    fn versions(era: Era) -> Option<HeaderValue> {
        let mut state = HttpState::new(HeaderMap::new());
        state.set_era(era);
        state.request_headers().headers.get(VERSION).cloned()
    }

    // MC-1
    #[test]
    fn the_version_is_named_from_the_revision_on_that_asks_for_it() {
        assert_eq!(versions(Era::Legacy("2024-11-05".to_owned())), None);
        assert_eq!(versions(Era::Legacy("2025-03-26".to_owned())), None);
        assert_eq!(versions(Era::Legacy("2025-06-18".to_owned())).unwrap(), "2025-06-18");
        assert_eq!(versions(Era::Modern).unwrap(), "2026-07-28");
    }

    // MC-1
    #[test]
    fn a_trace_is_told_in_every_era() {
        let pair = |name: &str| (name.to_owned(), "x".to_owned());
        let headers = [pair("Mcp-Name"), pair("traceparent")];
        for (era, names) in
            [(Era::Modern, [true, true]), (Era::Legacy("2025-06-18".to_owned()), [false, true])]
        {
            let mut state = HttpState::new(HeaderMap::new());
            state.set_era(era);
            let sent = state.headers_of("tools/call", &headers).unwrap().own;
            let told =
                ["mcp-name", "traceparent"].map(|name| sent.iter().any(|(sent, _)| sent == name));
            assert_eq!(told, names);
        }
    }
}
