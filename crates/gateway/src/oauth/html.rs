//! HTML without script, in which everything from outside is text.

use std::fmt::Write;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};

/// A page, or a part of one.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends markup of ours.
    pub(super) fn markup(mut self, markup: &str) -> Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, which may be anybody's.
    pub(super) fn text(mut self, text: &str) -> Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Appends a hidden field.
    pub(super) fn hidden(self, name: &str, value: &str) -> Self {
        self.markup("<input type=\"hidden\" name=\"")
            .text(name)
            .markup("\" value=\"")
            .text(value)
            .markup("\">\n")
    }

    /// Appends `one` for each item.
    pub(super) fn each<T>(self, items: &[T], one: impl Fn(Self, &T) -> Self) -> Self {
        items.iter().fold(self, one)
    }
}

/// Returns a whole page. Its forms may lead to `target`, besides ourselves.
pub(super) fn page(status: StatusCode, title: &str, body: Html, target: Option<&str>) -> Response {
    let whole = Html::default()
        .markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
        .text(title)
        .markup(" – Switchboard</title>\n<link rel=\"icon\" href=\"/console/icon.svg\">\n")
        .markup("<link rel=\"stylesheet\" href=\"/console/pages.css\">\n</head>\n<body>\n<main>\n")
        .markup(&body.0)
        .markup("</main>\n</body>\n</html>\n");
    let mut response = (status, whole.0).into_response();
    let fixed = HeaderValue::from_static;
    response.headers_mut().extend([
        (header::CONTENT_TYPE, fixed("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, fixed("no-store")),
        (header::CONTENT_SECURITY_POLICY, policy(target)),
        (header::X_FRAME_OPTIONS, fixed("DENY")),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        // Not `no-referrer`: browsers would not say that our own forms come from our own page.
        (header::REFERRER_POLICY, fixed("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin")),
    ]);
    response
}

/// The Content-Security-Policy: no script, no framing, and forms that lead nowhere else.
fn policy(target: Option<&str>) -> HeaderValue {
    let mut text = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                    frame-ancestors 'none'; form-action 'self'"
        .to_owned();
    // Hosts may have characters that end a directive.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '-' | '_');
    match target {
        // Browsers apply it to where the response of a form leads, too. Addresses of version 6 are not sources.
        Some(target) if target.starts_with("http://[") => text.push_str(" http:"),
        Some(target) if target.chars().all(is_plain) => _ = write!(text, " {target}"),
        _ => {}
    }
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-4
    #[test]
    fn text_stays_text_and_a_target_adds_no_directive() {
        let html = Html::default().text("<b>\"'&").hidden("a", "\">").0;
        let expected =
            "&lt;b&gt;&quot;&#39;&amp;<input type=\"hidden\" name=\"a\" value=\"&quot;&gt;\">\n";
        assert_eq!(html, expected);
        let policy = |target: &str| policy(Some(target)).to_str().unwrap().to_owned();
        assert!(policy("https://a.example").ends_with("form-action 'self' https://a.example"));
        assert!(policy("http://[::1]:1").ends_with("form-action 'self' http:"));
        for wrong in ["https://a;sandbox", "https://a,b", "https://a *", "https://a'x'"] {
            assert!(policy(wrong).ends_with("form-action 'self'"), "{wrong}");
        }
    }
}
