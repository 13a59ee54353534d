//! What people and programs see of voice: lines on stderr, JSON on stdout.

use std::sync::Arc;

use clap::ColorChoice;
use serde_json::{Value, json};
use switchboard_voice::{News, State, Watcher};

use crate::terminal::{self, Paint, text};

/// Shows what happens, as it happens.
pub(super) struct Screen {
    is_json: bool,
    paint: Paint,
}

impl Screen {
    pub(super) fn new(is_json: bool, color: ColorChoice) -> Self {
        Self { is_json, paint: Paint::stderr(color) }
    }

    pub(super) fn watcher(self) -> Watcher {
        Arc::new(move |news| self.show(news))
    }

    fn show(&self, news: &News) {
        if let Some(line) = self.is_json.then(|| line(news)).flatten() {
            // Whoever read it has gone; the household still listens.
            let _ = terminal::print(&line.to_string());
        }
        terminal::tell(&self.words(news));
    }

    /// The news on one line, whatever a model or a tool says.
    fn words(&self, news: &News) -> String {
        let paint = self.paint;
        match news {
            News::State(State::Connecting(servers)) => {
                let names = text::one_line(&servers.join(", "));
                self.paint.yellow(&format!("● connecting to {names}"))
            }
            News::State(state) => {
                let word = format!("● {}", state.word());
                match state {
                    State::Listening => paint.green(&word),
                    State::Recording => paint.red(&word),
                    State::Thinking | State::Connecting(_) => paint.yellow(&word),
                    State::Speaking => paint.cyan(&word),
                    State::Offline => paint.dim(&word),
                }
            }
            News::Called(word) => paint.dim(&format!("  called: {}", text::one_line(word))),
            News::Ignored(reason) => paint.dim(&format!("  ignored: {}", text::one_line(reason))),
            News::Transcription(said) => {
                format!("  {} {}", paint.bold("heard:"), text::one_line(&said.text))
            }
            News::Calling(tool) => paint.dim(&format!("  calling {}", text::one_line(tool))),
            News::Answer(said) => {
                let took = paint.dim(&format!("({:.1}s)", said.duration));
                format!("  {} {} {took}", paint.bold("answer:"), text::one_line(&said.answer))
            }
            News::Failure(failure) => {
                let stage = json!(failure.stage);
                let stage = stage.as_str().unwrap_or_default();
                let error = text::one_line(&failure.error);
                format!("  {} {stage}: {error}", paint.bold_red("error:"))
            }
        }
    }
}

/// The line of JSON that tells of it.
fn line(news: &News) -> Option<Value> {
    let (kind, content) = match news {
        News::Transcription(said) => ("transcription", json!(said)),
        News::Answer(said) => ("answer", json!(said)),
        News::Failure(failure) => ("error", json!(failure)),
        News::State(_) | News::Called(_) | News::Ignored(_) | News::Calling(_) => return None,
    };
    let mut line = json!({"type": kind});
    if let (Value::Object(line), Value::Object(content)) = (&mut line, content) {
        line.extend(content);
    }
    Some(line)
}
