//! What differs between two runs of the same question.

use std::collections::VecDeque;

use serde_json::{Value, json};
use switchboard_agent::{RunDetail, RunState};

/// What is compared of a run.
pub(super) struct RunFacts {
    /// Its id, if it is recorded.
    pub(super) id: Option<String>,
    pub(super) model: String,
    pub(super) state: &'static str,
    pub(super) answer: Option<String>,
    pub(super) turns: usize,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cost: Option<f64>,
    /// The calls: the tool and its arguments.
    pub(super) calls: Vec<String>,
    pub(super) duration_ms: Option<u64>,
    /// Why there is no answer, if the record or the model says so.
    pub(super) error: Option<String>,
    /// What is different in the tools that were offered, if anything is.
    pub(super) tools_changed: Option<String>,
}

impl RunFacts {
    /// Returns the facts of a recorded run.
    pub(super) fn of(run: &RunDetail) -> Self {
        let summary = &run.summary;
        Self {
            id: Some(summary.id.to_string()),
            model: summary.model.clone(),
            state: summary.state.code(),
            answer: run.answer.clone().filter(|_| summary.state == RunState::Ended),
            turns: summary.turns,
            input_tokens: summary.input_tokens,
            output_tokens: summary.output_tokens,
            cost: summary.cost,
            calls: calls(run.parts().1),
            duration_ms: duration(run),
            error: summary.error.clone(),
            tools_changed: None,
        }
    }

    /// Returns the facts of a question that could not be asked again.
    pub(super) fn failed(model: String, error: String) -> Self {
        Self {
            id: None,
            model,
            state: RunState::Failed.code(),
            answer: None,
            turns: 0,
            input_tokens: 0,
            output_tokens: 0,
            cost: None,
            calls: Vec::new(),
            duration_ms: None,
            error: Some(error),
            tools_changed: None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut shown = json!({
            "run_id": self.id, "model": self.model, "state": self.state, "answer": self.answer, "turns": self.turns,
            "calls": self.calls.len(), "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens, "duration_ms": self.duration_ms,
        });
        if let Some(cost) = self.cost {
            shown["cost"] = json!(cost);
        }
        if let Some(error) = &self.error {
            shown["error"] = json!(error);
        }
        if let Some(changed) = &self.tools_changed {
            shown["tools_changed"] = json!(changed);
        }
        shown
    }
}

/// Returns how long a run took, as far as that is recorded.
fn duration(run: &RunDetail) -> Option<u64> {
    let began = u64::try_from(run.summary.id.number() >> 80).ok()?;
    let ended =
        run.timeline.as_array()?.iter().filter_map(|turn| turn["ended_ms"].as_u64()).max()?;
    ended.checked_sub(began)
}

/// Returns the calls in messages, each as one line.
pub(super) fn calls(messages: &[Value]) -> Vec<String> {
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array());
    let line =
        |call: &Value| format!("{} {}", call["name"].as_str().unwrap_or_default(), call["args"]);
    calls.flatten().map(line).collect()
}

/// Whether two answers say the same, white space aside.
pub(super) fn is_same_answer(one: &RunFacts, other: &RunFacts) -> bool {
    let words = |facts: &RunFacts| -> Option<Vec<String>> {
        Some(facts.answer.as_ref()?.split_whitespace().map(str::to_owned).collect())
    };
    words(one) == words(other)
}

/// Returns both runs and what differs.
pub(super) fn to_json(before: &RunFacts, after: &RunFacts) -> Value {
    let calls = call_lines(&before.calls, &after.calls);
    json!({
        "before": before.to_json(), "after": after.to_json(),
        "same_answer": is_same_answer(before, after), "calls": calls,
    })
}

/// Returns the calls of both runs in order: `-` only before, `+` only after, and with a space those of both.
pub(super) fn call_lines(before: &[String], after: &[String]) -> Vec<String> {
    // The longest common subsequence; runs have few calls.
    let mut longest = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for (i, one) in before.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            longest[i][j] = match one == other {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut lines, mut i, mut j) = (VecDeque::new(), 0, 0);
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push_back(format!("  {}", before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len() || i < before.len() && longest[i + 1][j] >= longest[i][j + 1] {
            lines.push_back(format!("- {}", before[i]));
            i += 1;
        } else {
            lines.push_back(format!("+ {}", after[j]));
            j += 1;
        }
    }
    lines.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_are_lined_up() {
        let calls = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let lines = call_lines(&calls("a b c"), &calls("a c d"));
        assert_eq!(lines, ["  a", "- b", "  c", "+ d"]);
        assert_eq!(call_lines(&[], &calls("a")), ["+ a"]);
    }
}
