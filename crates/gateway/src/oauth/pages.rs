//! The pages: signing in, consent, and what went wrong.

use axum::response::Response;
use http::StatusCode;
use switchboard_access::oauth::{AuthorizationRequest, Person};

use super::{
    AUTHORIZE, OIDC, SIGN_IN, SIGN_OUT,
    html::{Html, page},
};

/// The tools of a server, or one tool of ours: what a person can leave out.
pub(super) struct ToolGroup {
    /// The pattern that stands for them.
    pub(super) pattern: String,
    /// What people call them.
    pub(super) label: String,
    /// The names of the tools.
    pub(super) tools: Vec<String>,
}

/// What the forms of a page need.
pub(super) struct FormFields<'a> {
    /// The client's request, as a query.
    pub(super) query: &'a str,
    /// Shows that the form is of our page.
    pub(super) field: &'a str,
}

/// Returns the page that asks for a token, or leads to the issuer at which people sign in.
pub(super) fn sign_in(
    fields: &FormFields<'_>,
    issuer: Option<&str>,
    error: Option<&str>,
) -> Response {
    let body = Html::default()
        .markup("<h1>Sign in</h1>\n<p>A program wants to use the tools of this Switchboard in your name. ")
        .markup("Sign in to see which, and to decide.</p>\n");
    let body = match error {
        Some(error) => {
            body.markup("<p class=\"error\" role=\"alert\">").text(error).markup("</p>\n")
        }
        None => body,
    };
    let body = match issuer {
        Some(issuer) => body
            .markup("<p class=\"buttons\"><a href=\"")
            .text(&format!("{OIDC}?{}", fields.query))
            .markup("\">Sign in at ")
            .text(issuer)
            .markup("</a></p>\n<p class=\"hint\">or</p>\n"),
        None => body,
    };
    let body = form(body, SIGN_IN, fields)
        .markup("<label for=\"token\">Your token</label>\n")
        .markup("<input id=\"token\" name=\"token\" type=\"password\" required autofocus ")
        .markup("autocomplete=\"current-password\" spellcheck=\"false\" placeholder=\"sb_…\">\n")
        .markup("<p class=\"hint\">Who runs the gateway makes one with ")
        .markup("<code>switchboard token new --name NAME</code>.</p>\n")
        .markup("<p class=\"buttons\"><button class=\"main\">Sign in</button></p>\n</form>\n");
    let status = if error.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    page(status, "Sign in", body, None)
}

/// Returns the page that asks for consent.
pub(super) fn consent(
    request: &AuthorizationRequest,
    person: &Person,
    groups: &[ToolGroup],
    fields: &FormFields<'_>,
    sign_out: Option<&FormFields<'_>>,
) -> Response {
    let body = Html::default().markup("<h1>Let <strong>").text(&request.client.name);
    let body = body.markup("</strong> use your tools?</h1>\n<dl>\n<dt>Client</dt><dd>");
    let body = match request.client.domain() {
        Some(domain) => body
            .markup("of <strong>")
            .text(&domain)
            .markup("</strong> (<code>")
            .text(&request.client.id)
            .markup("</code>)"),
        None => body
            .markup("registered itself as “")
            .text(&request.client.name)
            .markup("”; nobody vouches for that name"),
    };
    let body = body.markup("</dd>\n<dt>It returns to</dt><dd><code>").text(&request.redirect_uri);
    let body = body.markup("</code></dd>\n<dt>For</dt><dd><code>").text(&request.resource);
    let body = match request.profile() {
        Some(profile) => {
            body.markup("</code></dd>\n<dt>In the profile</dt><dd><code>").text(profile)
        }
        None => body,
    };
    let body = body.markup("</code></dd>\n<dt>In the name of</dt><dd>").text(&person.name());
    let body = body.markup("</dd>\n</dl>\n");
    let body = match request.is_local() {
        true => body
            .markup("<p class=\"warning\">It returns to a program on the computer of this browser. ")
            .markup("Go on only if you have just started that program: any program can claim this name.</p>\n"),
        false => body,
    };
    let body = tools(form(body, AUTHORIZE, fields), groups)
        .markup("<p class=\"hint\">It never gets more than you may do, and no right to administer or approve. ")
        .markup("<code>switchboard token list</code> shows it, <code>switchboard token revoke</code> ends it.</p>\n")
        .markup("<p class=\"buttons\"><button name=\"decision\" value=\"deny\">Refuse</button>\n")
        .markup("<button class=\"main\" name=\"decision\" value=\"allow\">Allow</button></p>\n</form>\n");
    let body = match sign_out {
        Some(fields) => form(body, SIGN_OUT, fields)
            .markup("<p><button class=\"plain\">I am somebody else</button></p>\n</form>\n"),
        None => body,
    };
    page(StatusCode::OK, "Allow a client", body, Some(&request.redirect_source()))
}

/// Appends the tools, each of which can be left out.
fn tools(body: Html, groups: &[ToolGroup]) -> Html {
    let count: usize = groups.iter().map(|group| group.tools.len()).sum();
    let body =
        body.markup("<fieldset>\n<legend>Tools (").text(&count.to_string()).markup(")</legend>\n");
    let body = body.each(groups, |body, group| {
        let body = body.markup(
            "<div class=\"group\"><label><input type=\"checkbox\" name=\"tools\" checked value=\"",
        );
        let body = body.text(&group.pattern).markup("\"> ").text(&group.label).markup("</label>\n");
        match group.tools.len() {
            1 => body.markup("</div>\n"),
            count => body
                .markup("<details><summary>")
                .text(&format!("{count} tools"))
                .markup("</summary><ul>")
                .each(&group.tools, |body, tool| {
                    body.markup("<li><code>").text(tool).markup("</code></li>")
                })
                .markup("</ul></details></div>\n"),
        }
    });
    body.markup("</fieldset>\n")
}

/// Returns the page for a request that cannot be granted; with a way back if the client may know.
pub(super) fn failed(status: StatusCode, text: &str, back: Option<&str>) -> Response {
    let body =
        Html::default().markup("<h1>This does not work</h1>\n<p class=\"error\">").text(text);
    let body = body.markup("</p>\n");
    let body = match back {
        Some(back) => body
            .markup("<p><a rel=\"noreferrer\" href=\"")
            .text(back)
            .markup("\">Back to the program</a></p>\n"),
        None => body.markup(
            "<p>Nothing was allowed. Close this page, and start again in the program.</p>\n",
        ),
    };
    page(status, "Error", body, None)
}

/// Returns the page that loads itself again. A browser that was led here by another site does not send our cookie at first.
pub(super) fn again(query: &str) -> Response {
    let address = format!("{AUTHORIZE}?{query}");
    let body =
        Html::default().markup("<p><a href=\"").text(&address).markup("\">Continue</a></p>\n");
    let mut response = page(StatusCode::OK, "Continue", body, None);
    if let Ok(refresh) = format!("0; url={address}").parse() {
        response.headers_mut().insert("refresh", refresh);
    }
    response
}

fn form(body: Html, action: &str, fields: &FormFields<'_>) -> Html {
    body.markup("<form method=\"post\" action=\"")
        .text(action)
        .markup("\">\n")
        .hidden("request", fields.query)
        .hidden("form", fields.field)
}
