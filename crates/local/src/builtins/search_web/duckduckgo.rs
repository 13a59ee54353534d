//! DuckDuckGo's instant answers: `/?q=…&format=json`.

use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::ToolError;

use super::{SearchResults, WebSearch, WebSearchHit, fetch::Fetcher, text::PlainText};

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct DuckDuckGoResponse {
    heading: PlainText,
    // An object, thus empty, for what its own pages compute (calculator, time zones).
    answer: PlainText,
    abstract_text: PlainText,
    #[serde(rename = "AbstractURL")]
    abstract_url: PlainText,
    definition: PlainText,
    results: Vec<DuckDuckGoTopic>,
    related_topics: Vec<DuckDuckGoTopic>,
}

/// A topic, or a named group of topics.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct DuckDuckGoTopic {
    text: PlainText,
    #[serde(rename = "FirstURL")]
    first_url: PlainText,
    result: PlainText,
    topics: Vec<DuckDuckGoTopic>,
}

pub(super) async fn search(
    fetcher: &Fetcher,
    search: &WebSearch<'_>,
) -> Result<SearchResults, ToolError> {
    let query = [
        ("q", search.query),
        ("format", "json"),
        ("no_html", "1"),
        ("no_redirect", "1"),
        ("skip_disambig", "1"),
    ];
    let response: DuckDuckGoResponse = fetcher.ask("", &query, |request| request).await?;
    Ok(response.found())
}

impl DuckDuckGoResponse {
    fn found(&self) -> SearchResults {
        let answers = [&self.answer, &self.abstract_text, &self.definition];
        let answer = answers.into_iter().map(PlainText::plain).find(|text| !text.is_empty());
        let page = WebSearchHit::new(&self.heading, &self.abstract_url, &self.abstract_text);
        let mut hits: Vec<WebSearchHit> = page.into_iter().collect();
        for topic in self.results.iter().chain(&self.related_topics) {
            topic.collect_into(&mut hits);
        }
        SearchResults { answer, hits }
    }
}

impl DuckDuckGoTopic {
    fn collect_into(&self, hits: &mut Vec<WebSearchHit>) {
        hits.extend(WebSearchHit::new(&self.title(), &self.first_url, &self.text));
        for topic in &self.topics {
            topic.collect_into(hits);
        }
    }

    /// The linked words of `<a href="…">Rust</a> A language`, else the start of the text.
    fn title(&self) -> PlainText {
        let link = self.result.raw().split_once("</a>").and_then(|(link, _)| link.rsplit_once('>'));
        let title = match link {
            Some((_, words)) if !words.is_empty() => words,
            _ => self.text.raw().split(" - ").next().unwrap_or_default(),
        };
        PlainText::from(Value::from(title))
    }
}
