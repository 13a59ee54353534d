//! Pages without scripts, which cannot be framed.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use switchboard_mcp_client::SignInPage;

/// The Content-Security-Policy. Forms may lead elsewhere: the browser goes on to the authorization server.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the page asks the caller.
pub(super) enum Ask<'a> {
    /// Whether to go on.
    ToGoOn,
    /// For the token, and why.
    ForToken(&'a str),
}

/// A page.
pub(super) struct Page {
    title: String,
    body: String,
}

impl Page {
    /// Creates a page with one sentence.
    pub(super) fn new(title: &str, text: &str) -> Self {
        Self { title: escaped(title), body: format!("<p>{}</p>", escaped(text)) }
    }

    /// Returns the response with this status.
    pub(super) fn with_status(self, status: StatusCode) -> Response {
        let mut response = self.into_response();
        *response.status_mut() = status;
        response
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let Self { title, body } = self;
        let page = format!(
            "<!doctype html><html lang=en><meta charset=utf-8>\
             <meta name=viewport content=\"width=device-width\"><title>{title} – Switchboard</title>\
             <link rel=stylesheet href=/console/console.css><main><h1>{title}</h1>{body}</main></html>"
        );
        let mut response = Html(page).into_response();
        let fixed = HeaderValue::from_static;
        response.headers_mut().extend([
            (header::CONTENT_SECURITY_POLICY, fixed(POLICY)),
            (header::X_FRAME_OPTIONS, fixed("DENY")),
            (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
            (header::CACHE_CONTROL, fixed("no-store")),
            // A stricter one would hide from us that a form is our own.
            (header::REFERRER_POLICY, fixed("same-origin")),
            (HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin")),
            (HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin")),
        ]);
        response
    }
}

/// The page on which a caller begins.
pub(super) fn ask(page: &SignInPage, ask: Ask<'_>) -> Page {
    let server = escaped(page.server_name());
    let caller = escaped(page.principal().name());
    let field = match ask {
        Ask::ToGoOn => String::new(),
        Ask::ForToken(why) => format!(
            "<p>{}</p><p><label>The token of {caller} at this gateway \
             <input type=password name=token autocomplete=off required></label></p>",
            escaped(why)
        ),
    };
    let body = format!(
        "<p>A call of <b>{caller}</b> needs a sign-in to <b>{server}</b>. Go on only if you made that call: what you sign in \
         to will be used for the calls of {caller}.</p>\
         <form method=post>{field}<p><button type=submit>Sign in to {server}</button></p></form>"
    );
    Page { title: format!("Sign in to {server}"), body }
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}
