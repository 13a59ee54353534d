//! The outcome of a turn, as text for people.

use std::{borrow::Cow, error::Error, iter, time::Duration};

use switchboard_agent::{AgentOutcome, StopCause};
use switchboard_models::{Provider, StopReason, Usage};

use crate::{
    model,
    terminal::{self, Paint, text},
};

/// How a turn ended for people: with an answer, cancelled, or without one for a reason.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnEnding {
    /// There is an answer; the note says what is wrong with it, if anything.
    Answer { text: String, note: Option<Cow<'static, str>> },
    /// The user pressed Ctrl-C.
    Cancelled,
    /// There is no answer: the reason.
    Nothing(String),
}

impl TurnEnding {
    /// Converts an outcome; `None` means that it was not waited for, and counts as cancelled.
    pub(crate) fn of(
        outcome: Option<&AgentOutcome>,
        provider: Provider,
        offers_tools: bool,
    ) -> Self {
        let Some(outcome) = outcome else { return Self::Cancelled };
        if let Some(text) = outcome.answer.clone().filter(|text| !text.trim().is_empty()) {
            return Self::Answer { text, note: note(outcome, provider) };
        }
        match outcome.stop {
            StopCause::Cancelled => Self::Cancelled,
            _ => Self::Nothing(reason(outcome, provider, offers_tools)),
        }
    }

    /// Prints the note or the reason to stderr.
    pub(crate) fn tell(&self, paint: Paint) {
        match self {
            Self::Answer { note: None, .. } => {}
            Self::Answer { note: Some(note), .. } => {
                terminal::tell(&format!("{} {note}", paint.yellow("warning:")));
            }
            Self::Cancelled => terminal::tell(&paint.yellow("cancelled")),
            Self::Nothing(reason) => {
                // Text of a provider must not control the terminal.
                let reason = text::one_line(reason);
                terminal::tell(&format!("{} no answer: {reason}", paint.bold_red("error:")));
            }
        }
    }
}

/// Returns what is wrong with an answer, if anything.
fn note(outcome: &AgentOutcome, provider: Provider) -> Option<Cow<'static, str>> {
    let text = match (outcome.reason.as_ref()?, provider.info().context_setting) {
        (StopReason::MaxTokens, _) => {
            "the answer was cut at its token limit; `max_tokens` of the model sets it"
        }
        (StopReason::ContextFull, Some(size)) => {
            return Some(
                format!("the answer was cut: the model's context is full; `{size}` of the model sets its size")
                    .into(),
            );
        }
        (StopReason::ContextFull, None) => "the answer was cut: the model's context is full",
        (StopReason::Refusal, _) => "the model, or its provider, declined to go on",
        _ => return None,
    };
    Some(text.into())
}

/// Why there is no answer, and what to do.
fn reason(outcome: &AgentOutcome, provider: Provider, offers_tools: bool) -> String {
    if let Some(error) = &outcome.error {
        let mut text = error.to_string();
        // The causes in between are internals of the HTTP client.
        let causes =
            iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
        if let Some(root) = causes.last() {
            text = format!("{text} ({root})");
        }
        return match model::after_failure(error, provider, offers_tools) {
            Some(advice) => format!("{text}; {advice}"),
            None => text,
        };
    }
    if let Some(problems) = &outcome.invalid_answer {
        return format!("what the model answered does not fit the schema: {problems}");
    }
    let text = match (outcome.stop, &outcome.reason) {
        (StopCause::CostBudget, _) => {
            let cost = outcome.cost.unwrap_or_default();
            return format!(
                "the cost budget was spent first: the run has cost {cost}; [agent] cost_budget sets it"
            );
        }
        (StopCause::MaxIterations, _) => {
            "the model went on calling tools when it was to answer; --max-iterations lets it be asked more often"
        }
        (StopCause::Budget, _) => {
            "the time or the tokens were spent first; --timeout and [agent] in the config set them"
        }
        (StopCause::Repeats, _) => {
            "the model made the same call again and again; ask differently, or let it poll with [agent] polling_tools"
        }
        (_, Some(StopReason::MaxTokens)) => {
            "the model reached its token limit before it answered; `max_tokens` of the model sets it"
        }
        (_, Some(StopReason::Refusal)) => "the model, or its provider, declined",
        (_, Some(StopReason::ContextFull)) => {
            let advice = model::after_overflow(provider, offers_tools);
            return format!("the conversation no longer fits the model; {advice}");
        }
        _ => "the model answered nothing; ask again, or another model",
    };
    text.to_owned()
}

/// `1,780 tokens in, 98 out, 2.1s`; only the time if no usage was reported.
pub(crate) fn summary(usage: Usage, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f32();
    if usage == Usage::default() {
        return format!("{seconds:.1}s");
    }
    let (read, written) = (grouped(usage.input_tokens), grouped(usage.output_tokens));
    format!("{read} tokens in, {written} out, {seconds:.1}s")
}

/// The number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_readable() {
        let usage = Usage { input_tokens: 1_234_567, output_tokens: 98 };
        let says = summary(usage, Duration::from_millis(2_140));
        assert_eq!(says, "1,234,567 tokens in, 98 out, 2.1s");
        assert_eq!(summary(Usage::default(), Duration::from_secs(3)), "3.0s");
    }
}
