//! Brave Web Search API: `/res/v1/web/search`.

use reqwest::header::HeaderValue;
use serde::Deserialize;
use switchboard_toolcall::{ErrorKind, ToolError};

use super::{ApiKey, SearchResults, WebSearch, WebSearchHit, fetch::Fetcher, text::PlainText};

#[derive(Deserialize)]
struct BraveResponse {
    // Left out where nothing was found.
    web: Option<BraveWeb>,
}

#[derive(Deserialize)]
struct BraveWeb {
    #[serde(default)]
    results: Vec<BraveEntry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BraveEntry {
    title: PlainText,
    url: PlainText,
    description: PlainText,
}

pub(super) async fn search(
    fetcher: &Fetcher,
    search: &WebSearch<'_>,
) -> Result<SearchResults, ToolError> {
    let key = key(fetcher.config.api_key.as_ref())?;
    let count = search.max_results.to_string();
    let query = [
        ("q", search.query),
        ("count", &count),
        ("text_decorations", "false"),
        ("result_filter", "web"),
    ];
    let response: BraveResponse = fetcher
        .ask("res/v1/web/search", &query, |request| {
            request.header("Accept", "application/json").header("X-Subscription-Token", key)
        })
        .await?;
    let entries = response.web.map(|web| web.results).unwrap_or_default();
    Ok(SearchResults { answer: None, hits: entries.iter().filter_map(BraveEntry::hit).collect() })
}

impl BraveEntry {
    fn hit(&self) -> Option<WebSearchHit> {
        WebSearchHit::new(&self.title, &self.url, &self.description)
    }
}

fn key(key: Option<&ApiKey>) -> Result<HeaderValue, ToolError> {
    let key = key.map(|key| key.reveal().trim()).unwrap_or_default();
    match HeaderValue::from_str(key) {
        Ok(mut value) if !key.is_empty() => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => {
            let text = "Tool 'search_web' is unavailable: [builtins.search_web] brave needs `api_key`, in \
                        plain characters";
            Err(ToolError::new(ErrorKind::Unavailable, text))
        }
    }
}
