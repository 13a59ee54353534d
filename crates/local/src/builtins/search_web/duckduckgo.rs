//! DuckDuckGo's instant answers: `/?q=…&format=json`.

use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::ToolError;

use super::{Found, Hit, Search, fetch::Fetcher, text::Text};

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Response {
    heading: Text,
    // An object, thus empty, for what its own pages compute (calculator, time zones).
    answer: Text,
    abstract_text: Text,
    #[serde(rename = "AbstractURL")]
    abstract_url: Text,
    definition: Text,
    results: Vec<Topic>,
    related_topics: Vec<Topic>,
}

/// A topic, or a named group of topics.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Topic {
    text: Text,
    #[serde(rename = "FirstURL")]
    first_url: Text,
    result: Text,
    topics: Vec<Topic>,
}

pub(super) async fn search(fetcher: &Fetcher, search: &Search<'_>) -> Result<Found, ToolError> {
    let query = [
        ("q", search.query),
        ("format", "json"),
        ("no_html", "1"),
        ("no_redirect", "1"),
        ("skip_disambig", "1"),
    ];
    let response: Response = fetcher.ask("", &query, |request| request).await?;
    Ok(response.found())
}

impl Response {
    fn found(&self) -> Found {
        let answers = [&self.answer, &self.abstract_text, &self.definition];
        let answer = answers.into_iter().map(Text::plain).find(|text| !text.is_empty());
        let page = Hit::new(&self.heading, &self.abstract_url, &self.abstract_text);
        let mut hits: Vec<Hit> = page.into_iter().collect();
        for topic in self.results.iter().chain(&self.related_topics) {
            topic.collect_into(&mut hits);
        }
        Found { answer, hits }
    }
}

impl Topic {
    fn collect_into(&self, hits: &mut Vec<Hit>) {
        hits.extend(Hit::new(&self.title(), &self.first_url, &self.text));
        for topic in &self.topics {
            topic.collect_into(hits);
        }
    }

    /// The linked words of `<a href="…">Rust</a> A language`, else the start of the text.
    fn title(&self) -> Text {
        let link = self.result.raw().split_once("</a>").and_then(|(link, _)| link.rsplit_once('>'));
        let title = match link {
            Some((_, words)) if !words.is_empty() => words,
            _ => self.text.raw().split(" - ").next().unwrap_or_default(),
        };
        Text::from(Value::from(title))
    }
}
