//! What people and programs see of voice: lines on stderr, JSON on stdout.

use std::sync::Arc;

use clap::ColorChoice;
use serde_json::{Value, json};
use switchboard_voice::{VoiceEvent, VoiceState, Watcher};

use crate::terminal::{self, Paint, text};

/// Shows what happens, as it happens.
pub(super) struct VoiceScreen {
    is_json: bool,
    paint: Paint,
}

impl VoiceScreen {
    pub(super) fn new(is_json: bool, color: ColorChoice) -> Self {
        Self { is_json, paint: Paint::stderr(color) }
    }

    pub(super) fn watcher(self) -> Watcher {
        Arc::new(move |news| self.show(news))
    }

    fn show(&self, news: &VoiceEvent) {
        if let Some(line) = self.is_json.then(|| line(news)).flatten() {
            // If stdout is closed, voice still runs.
            let _ = terminal::print(&line.to_string());
        }
        terminal::tell(&self.words(news));
    }

    /// The event as one line, even if the text of a model or a tool has several.
    fn words(&self, news: &VoiceEvent) -> String {
        let paint = self.paint;
        match news {
            VoiceEvent::State(VoiceState::Connecting(servers)) => {
                let names = text::one_line(&servers.join(", "));
                self.paint.yellow(&format!("● connecting to {names}"))
            }
            VoiceEvent::State(state) => {
                let word = format!("● {}", state.word());
                match state {
                    VoiceState::Listening => paint.green(&word),
                    VoiceState::Recording => paint.red(&word),
                    VoiceState::Thinking | VoiceState::Connecting(_) => paint.yellow(&word),
                    VoiceState::Speaking => paint.cyan(&word),
                    VoiceState::Offline => paint.dim(&word),
                }
            }
            VoiceEvent::Called(word) => paint.dim(&format!("  called: {}", text::one_line(word))),
            VoiceEvent::Ignored(reason) => {
                paint.dim(&format!("  ignored: {}", text::one_line(reason)))
            }
            VoiceEvent::Transcription(said) => {
                format!("  {} {}", paint.bold("heard:"), text::one_line(&said.text))
            }
            VoiceEvent::Calling(tool) => paint.dim(&format!("  calling {}", text::one_line(tool))),
            VoiceEvent::Answer(said) => {
                let took = paint.dim(&format!("({:.1}s)", said.duration));
                format!("  {} {} {took}", paint.bold("answer:"), text::one_line(&said.answer))
            }
            VoiceEvent::Failure(failure) => {
                let stage = json!(failure.stage);
                let stage = stage.as_str().unwrap_or_default();
                let error = text::one_line(&failure.error);
                format!("  {} {stage}: {error}", paint.bold_red("error:"))
            }
        }
    }
}

/// The event as a line of JSON.
fn line(news: &VoiceEvent) -> Option<Value> {
    let (kind, content) = match news {
        VoiceEvent::Transcription(said) => ("transcription", json!(said)),
        VoiceEvent::Answer(said) => ("answer", json!(said)),
        VoiceEvent::Failure(failure) => ("error", json!(failure)),
        VoiceEvent::State(_)
        | VoiceEvent::Called(_)
        | VoiceEvent::Ignored(_)
        | VoiceEvent::Calling(_) => return None,
    };
    let mut line = json!({"type": kind});
    if let (Value::Object(line), Value::Object(content)) = (&mut line, content) {
        line.extend(content);
    }
    Some(line)
}
