//! SearXNG: `/search?q=…&format=json`.

use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::{ErrorKind, ToolError};

use super::{
    SearchResults, WebSearch, WebSearchHit,
    fetch::Fetcher,
    text::{PlainText, plain},
};

#[derive(Deserialize)]
struct SearxngResponse {
    results: Vec<SearxngEntry>,
    // Text in older versions, objects in newer ones.
    #[serde(default)]
    answers: Vec<Value>,
    #[serde(default)]
    infoboxes: Vec<Infobox>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearxngEntry {
    url: PlainText,
    title: PlainText,
    content: PlainText,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Infobox {
    content: PlainText,
}

pub(super) async fn search(
    fetcher: &Fetcher,
    search: &WebSearch<'_>,
) -> Result<SearchResults, ToolError> {
    let query = [("q", search.query), ("format", "json")];
    let response: SearxngResponse = fetcher.ask("search", &query, |request| request).await?;
    response.found().map_err(|engines| {
        let service = fetcher.config.service();
        let text = format!(
            "Tool 'search_web' is unavailable: none of the engines behind {service} answered ({engines})"
        );
        ToolError::new(ErrorKind::Unavailable, text)
    })
}

impl SearxngResponse {
    /// What was found, or the engines that kept it from being found.
    fn found(self) -> Result<SearchResults, String> {
        let answer = self.answer();
        let hits: Vec<WebSearchHit> = self.results.iter().filter_map(SearxngEntry::hit).collect();
        if hits.is_empty() && answer.is_none() && !self.unresponsive_engines.is_empty() {
            let engines = self.unresponsive_engines.iter().map(engine);
            return Err(engines.collect::<Vec<_>>().join(", "));
        }
        Ok(SearchResults { answer, hits })
    }

    fn answer(&self) -> Option<String> {
        let answers = self.answers.iter().filter_map(|answer| {
            let text = answer.as_str().or_else(|| answer.get("answer")?.as_str());
            text.map(plain)
        });
        let infoboxes = self.infoboxes.iter().map(|infobox| infobox.content.plain());
        answers.chain(infoboxes).find(|text| !text.is_empty())
    }
}

impl SearxngEntry {
    fn hit(&self) -> Option<WebSearchHit> {
        WebSearchHit::new(&self.title, &self.url, &self.content)
    }
}

/// An engine that did not answer: `["google", "timeout"]`.
fn engine(entry: &Value) -> String {
    let word = |index: usize| entry.get(index).and_then(Value::as_str);
    match (word(0), word(1)) {
        (Some(name), Some(reason)) => format!("{name}: {reason}"),
        (Some(name), None) => name.to_owned(),
        _ => entry.to_string(),
    }
}
