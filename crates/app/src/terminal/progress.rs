//! The progress of a call, shown after its name in the spinner.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_toolcall::{Progress, ProgressUpdate};

use super::text;

/// The spinner's label for a call. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ProgressLabel {
    name: String,
    said: Arc<Mutex<String>>,
}

impl ProgressLabel {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), said: Arc::default() }
    }

    /// `count (40% half-way there)`
    pub(crate) fn text(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match said.is_empty() {
            true => self.name.clone(),
            false => format!("{} ({said})", self.name),
        };
        // A line that wraps cannot be erased again.
        text::shorten(&text, super::width().saturating_sub(12))
    }

    pub(crate) fn set(&self, update: &ProgressUpdate) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = render(update);
    }

    /// Where a call reports its progress to.
    pub(crate) fn listener(&self) -> Progress {
        let label = self.clone();
        Progress::to(move |update| label.set(&update))
    }
}

/// `40% half-way there`; the number itself if there is nothing else to say.
pub(crate) fn render(update: &ProgressUpdate) -> String {
    let said = update.message.as_deref().unwrap_or_default();
    let done = match update.total {
        Some(total) if total > 0.0 => format!("{:.0}%", 100.0 * update.progress / total),
        _ if said.is_empty() => update.progress.to_string(),
        _ => String::new(),
    };
    format!("{done} {said}").trim().to_owned()
}

/// Reads a report as REST writes it.
pub(crate) fn update(event: &Value) -> ProgressUpdate {
    ProgressUpdate {
        progress: event["progress"].as_f64().unwrap_or(0.0),
        total: event["total"].as_f64(),
        message: event["message"].as_str().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_label_says_how_far_the_call_is() {
        let label = ProgressLabel::new("count");
        assert_eq!(label.text(), "count");
        label.set(&update(&json!({"progress": 2, "total": 5, "message": "half-way"})));
        assert_eq!(label.text(), "count (40% half-way)");
        label.listener().report(ProgressUpdate { progress: 3.0, ..ProgressUpdate::default() });
        assert_eq!(label.text(), "count (3)");
    }
}
