//! `search_web`: web search through the provider that the config names (SPEC LT-3).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Json, Tool, ToolError, tool_fn};

use super::arguments::whole;
use fetch::Fetcher;
use text::PlainText;

pub use config::{ApiKey, Config, SearchProvider};

mod config;
mod fetch;
mod failure;
mod text;
mod searxng;
mod brave;
mod duckduckgo;

/// Searches the web and answers with titles, addresses and snippets of the best results.
#[derive(Deserialize, JsonSchema)]
struct SearchArguments {
    /// What to search for, as you would type it into a search engine.
    #[schemars(length(min = 1))]
    query: String,
    /// How many results to give at most, from 1 to 20; 5 by default.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 20))]
    max_results: Option<i64>,
}

/// A query to a provider.
struct WebSearch<'a> {
    query: &'a str,
    max_results: usize,
}

/// The results of a provider.
#[derive(Debug, Default, PartialEq)]
struct SearchResults {
    answer: Option<String>,
    hits: Vec<WebSearchHit>,
}

/// One result, in every provider's words.
#[derive(Debug, PartialEq, Serialize)]
struct WebSearchHit {
    title: String,
    url: String,
    snippet: String,
}

impl WebSearchHit {
    /// A result; `None` if there is no address to go to.
    fn new(title: &PlainText, url: &PlainText, snippet: &PlainText) -> Option<Self> {
        (!url.is_empty()).then(|| Self {
            title: title.plain(),
            url: url.raw().to_owned(),
            snippet: snippet.plain(),
        })
    }
}

#[derive(Serialize)]
struct SearchAnswer {
    query: String,
    results: Vec<WebSearchHit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

/// The tool `search_web`; without a config it answers with how to configure it.
pub fn tool(config: Option<Config>) -> Arc<dyn Tool> {
    let fetcher = config.map(|config| Arc::new(Fetcher::new(config)));
    let tool = tool_fn("search_web", move |arguments: SearchArguments, _cx: CallContext| {
        let fetcher = fetcher.clone();
        async move { search(fetcher.as_deref(), &arguments).await.map(Json) }
    });
    Arc::new(tool.annotate(Annotations { open_world: Some(true), ..Annotations::READ_ONLY }))
}

async fn search(
    fetcher: Option<&Fetcher>,
    arguments: &SearchArguments,
) -> Result<SearchAnswer, ToolError> {
    let search = arguments.search()?;
    let fetcher = fetcher.ok_or_else(unconfigured)?;
    let SearchResults { answer, mut hits } = match fetcher.config.provider {
        SearchProvider::SearXng => searxng::search(fetcher, &search).await,
        SearchProvider::Brave => brave::search(fetcher, &search).await,
        SearchProvider::DuckDuckGo => duckduckgo::search(fetcher, &search).await,
    }?;
    hits.truncate(search.max_results);
    Ok(SearchAnswer { query: search.query.to_owned(), results: hits, answer })
}

fn unconfigured() -> ToolError {
    let text = "Tool 'search_web' is unavailable: no search provider is configured. Set \
                [builtins.search_web] provider = \"searxng\" (with url), \"brave\" (with api_key) or \
                \"duckduckgo\" in the config";
    ToolError::new(ErrorKind::Unavailable, text)
}

impl SearchArguments {
    fn search(&self) -> Result<WebSearch<'_>, ToolError> {
        const DEFAULT: i64 = 5;
        let query = self.query.trim();
        if query.is_empty() {
            return Err(ToolError::invalid("'query' must not be empty"));
        }
        let max_results = match self.max_results.unwrap_or(DEFAULT) {
            max @ 1..=20 => usize::try_from(max).unwrap_or_default(),
            _ => return Err(ToolError::invalid("'max_results' must be between 1 and 20")),
        };
        Ok(WebSearch { query, max_results })
    }
}
