//! The error `-32042` of MCP 2025-11-25: the server handles a request only after a person has been on some pages. The caller is
//! shown them, and the request is sent again once they are done; the server has not begun to work on it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_mcp_wire::RpcError;
use switchboard_oauth::opens_pages;
use switchboard_toolcall::{CallContext, ErrorKind, QuestionKind, ServerQuestion, ToolError, text};
use tokio::time::{Instant, timeout};
use url::Url;

use super::{in_flight::CallOrigin, inbox::NotificationRouter, server::Server, transport::Failure};

/// How long a person has for all pages of a call.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the first wait for a server that does not tell when a page is done takes; each further one takes twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How many pages a server may want at once.
const MOST_PAGES: usize = 8;
/// How much of a server's text is shown, in characters.
const SHOWN: usize = 500;

/// A page that a person has to open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RequiredPage {
    id: String,
    url: String,
    message: String,
}

/// The pages that a server wants opened before it handles a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequiredPages(Vec<RequiredPage>);

/// What a call has done about such pages.
#[derive(Default)]
pub(super) struct PageVisits {
    /// The ids of the pages that the caller was shown.
    shown: Vec<String>,
    until: Option<Instant>,
    waits: u32,
}

impl RequiredPages {
    /// Reads the pages from an error; `None` if it is another one, or names no page that may be shown.
    pub(super) fn of(failure: &Failure) -> Option<Self> {
        let error = match failure {
            Failure::Rpc(error) | Failure::Http { error: Some(error), .. } => error,
            _ => return None,
        };
        if error.code != RpcError::URL_ELICITATION_REQUIRED {
            return None;
        }
        let wanted = error.data.as_ref()?.get("elicitations")?.as_array()?;
        let pages: Vec<_> = wanted.iter().take(MOST_PAGES).filter_map(RequiredPage::read).collect();
        (!pages.is_empty()).then_some(Self(pages))
    }

    /// `open https://a.example/1 and call again`
    fn advice(&self) -> String {
        let urls: Vec<_> = self.0.iter().map(|page| page.url.as_str()).collect();
        format!("open {} and call again", urls.join(" and "))
    }

    /// What the server says of them.
    fn message(&self) -> String {
        let said: Vec<_> = self.0.iter().map(|page| page.message.as_str()).collect();
        said.join("; ")
    }
}

impl RequiredPage {
    fn read(wanted: &Value) -> Option<Self> {
        let field = |name: &str| wanted[name].as_str().unwrap_or_default();
        let url = Url::parse(field("url")).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_page || wanted.get("mode").is_some_and(|mode| mode != "url") {
            return None;
        }
        let message: String = text::one_line(field("message")).chars().take(SHOWN).collect();
        Some(Self { id: field("elicitationId").to_owned(), url: url.into(), message })
    }

    fn question(&self) -> ServerQuestion {
        let Self { id, url, message } = self;
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        ServerQuestion { kind: QuestionKind::Elicit, params }
    }
}

impl Server {
    /// Shows the caller the pages, if it can be asked, and waits until they may be done.
    ///
    /// # Errors
    /// The caller cannot be asked, declines or takes too long; the hint has the addresses.
    pub(super) async fn show_pages(
        &self,
        pages: &RequiredPages,
        visits: &mut PageVisits,
        router: &NotificationRouter,
        call: &Arc<CallOrigin>,
        cx: &CallContext,
    ) -> Result<(), ToolError> {
        let at = pages.advice();
        let hint = format!("O{}.", &at[1..]);
        let fail = |why: &str| {
            let text = format!("MCP server '{}' cannot be used: {why}", self.name());
            ToolError::new(ErrorKind::Unavailable, text).with_hint(&hint)
        };
        let wants = match pages.message() {
            said if said.trim().is_empty() => "it wants a page opened first".to_owned(),
            said => format!("it wants a page opened first: {said}"),
        };
        let channel = match cx.caller_channel.as_deref() {
            Some(channel) if opens_pages(channel) => channel,
            // MCP clients see no hints.
            Some(_) => return Err(fail(&format!("{wants}; {at}"))),
            None => return Err(fail(&wants)),
        };
        // The time that a person takes is not the tool's.
        let _pause = channel.pause();
        let until = *visits.until.get_or_insert_with(|| Instant::now() + PATIENCE);
        if Instant::now() >= until {
            return Err(fail("its page was not visited in time"));
        }
        let new: Vec<_> = pages.0.iter().filter(|page| !visits.shown.contains(&page.id)).collect();
        if !new.is_empty() {
            let key = |at: usize| format!("page_{}", at + 1);
            let questions = new.iter().enumerate().map(|(at, page)| (key(at), page.question()));
            let answers = call.ask(channel, self.name(), questions.collect()).await;
            let answers = answers.map_err(|error| fail(&error.for_model))?;
            let accepted = (0..new.len()).all(|at| answers.get(&key(at)).is_some_and(is_accepted));
            if !accepted {
                return Err(fail("the caller did not want to open its page"));
            }
            visits.shown.extend(new.iter().map(|page| page.id.clone()));
        }
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(visits.waits)).min(LONGEST_WAIT);
        visits.waits += 1;
        let ids: Vec<_> = pages.0.iter().map(|page| page.id.as_str()).collect();
        // Not every server tells: one that does not is asked again.
        _ = timeout(wait.min(until - Instant::now()), router.completed(&ids)).await;
        Ok(())
    }
}

fn is_accepted(answer: &Value) -> bool {
    answer["action"] == "accept"
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-3
    #[test]
    fn only_pages_are_shown() {
        let read = |data: Value| {
            let error = RpcError::new(RpcError::URL_ELICITATION_REQUIRED, "x").with_data(data);
            RequiredPages::of(&Failure::Rpc(error)).map(|pages| pages.advice())
        };
        let page =
            |url: &str| json!({"mode": "url", "elicitationId": "1", "url": url, "message": "m"});
        assert_eq!(
            read(json!({"elicitations": [page("https://a.example/x"), page("http://b.example/")]})),
            Some("open https://a.example/x and http://b.example/ and call again".to_owned())
        );
        for wrong in [
            json!({}),
            json!({"elicitations": []}),
            json!({"elicitations": [page("javascript:alert(1)")]}),
            json!({"elicitations": [page("file:///etc/passwd")]}),
            json!({"elicitations": [page("nothing")]}),
            json!({"elicitations": [{"mode": "form", "url": "https://a.example"}]}),
            json!({"elicitations": {"url": "https://a.example"}}),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
        let other = RpcError::new(RpcError::INTERNAL, "x")
            .with_data(json!({"elicitations": [page("https://a.example")]}));
        assert_eq!(RequiredPages::of(&Failure::Rpc(other)), None);
    }
}
