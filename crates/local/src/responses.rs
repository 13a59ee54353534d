//! Answers by arguments: what a tool returned for the same arguments before.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value};
use switchboard_toolcall::numbers;

use crate::definition::{MockError, MockResponse};

/// The placeholder of a redacted secret in a record; it matches any value.
const REDACTED: &str = "[redacted]";

/// Answers, found by the arguments.
#[derive(Default)]
pub(crate) struct Responses {
    /// By the arguments in canonical form.
    exact: HashMap<String, Series>,
    /// Those in whose arguments a secret was taken out.
    redacted: Vec<(Value, Series)>,
}

/// The answers to the same arguments: in order, and the last one again and again.
#[derive(Default)]
struct Series {
    outcomes: Vec<Result<Value, MockError>>,
    given: AtomicUsize,
}

impl Responses {
    pub(crate) fn new(responses: &[MockResponse]) -> Self {
        let mut all = Self::default();
        for response in responses {
            let outcome = response.outcome();
            let args = canonical(&response.args);
            let text = args.to_string();
            let series = if !text.contains(REDACTED) {
                all.exact.entry(text).or_default()
            } else if let Some(found) = all.redacted.iter().position(|(known, _)| *known == args) {
                &mut all.redacted[found].1
            } else {
                all.redacted.push((args, Series::default()));
                let last = all.redacted.len() - 1;
                &mut all.redacted[last].1
            };
            series.outcomes.push(outcome);
        }
        all
    }

    /// The answer to these arguments if there is one.
    pub(crate) fn to(&self, args: &Value) -> Option<&Result<Value, MockError>> {
        let empty = Map::new();
        let args = canonical(args.as_object().unwrap_or(&empty));
        let redacted = || {
            let found = self.redacted.iter().find(|(recorded, _)| is_like(recorded, &args));
            found.map(|(_, series)| series)
        };
        self.exact.get(&args.to_string()).or_else(redacted)?.next()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.redacted.is_empty()
    }
}

impl Series {
    fn next(&self) -> Option<&Result<Value, MockError>> {
        let given = self.given.fetch_add(1, Ordering::Relaxed);
        self.outcomes.get(given).or(self.outcomes.last())
    }
}

/// Arguments in which neither the order of keys nor `3.0` for `3` makes a difference.
pub(crate) fn canonical(args: &Map<String, Value>) -> Value {
    numbers::canonical(&Value::Object(args.clone()))
}

/// Whether arguments are those of a record, wherever a secret was taken out.
fn is_like(recorded: &Value, given: &Value) -> bool {
    match (recorded, given) {
        (Value::String(text), _) if text == REDACTED => true,
        (Value::String(recorded), Value::String(given)) => match recorded.split_once(REDACTED) {
            Some((before, rest)) => {
                let after = rest.rsplit(REDACTED).next().unwrap_or(rest);
                let length = before.len() + after.len();
                given.len() >= length && given.starts_with(before) && given.ends_with(after)
            }
            None => recorded == given,
        },
        (Value::Array(recorded), Value::Array(given)) => {
            recorded.len() == given.len()
                && recorded.iter().zip(given).all(|(recorded, given)| is_like(recorded, given))
        }
        (Value::Object(recorded), Value::Object(given)) => {
            let has = |(key, value)| given.get(key).is_some_and(|given| is_like(value, given));
            recorded.len() == given.len() && recorded.iter().all(has)
        }
        _ => recorded == given,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(args: Value, response: Value) -> MockResponse {
        let args = args.as_object().unwrap().clone();
        MockResponse { args, response: Some(response), error: None }
    }

    fn answer(responses: &Responses, args: Value) -> Option<Value> {
        responses.to(&args).map(|outcome| outcome.as_ref().unwrap().clone())
    }

    #[test]
    fn the_same_arguments_are_answered_in_order() {
        let responses = Responses::new(&[
            response(json!({"a": 1, "b": [2.0]}), json!("first")),
            response(json!({}), json!("other")),
            response(json!({"b": [2], "a": 1.0}), json!("second")),
        ]);
        let given =
            [json!({"b": [2], "a": 1}), json!({"a": 1, "b": [2]}), json!({"a": 1.0, "b": [2]})];
        let answers: Vec<_> = given.map(|args| answer(&responses, args)).into();
        assert_eq!(answers, [Some(json!("first")), Some(json!("second")), Some(json!("second"))]);
        assert_eq!(answer(&responses, json!({})), Some(json!("other")));
        assert_eq!(answer(&responses, json!({"a": 1})), None);
        assert_eq!(answer(&responses, json!({"a": 2, "b": [2]})), None);
    }

    #[test]
    fn a_redacted_value_stands_for_any() {
        let responses = Responses::new(&[
            response(json!({"token": "[redacted]", "n": 1}), json!("by token")),
            response(json!({"header": ["Basic [redacted]"]}), json!("by header")),
        ]);
        for (args, expected) in [
            (json!({"n": 1, "token": "s3cret"}), Some("by token")),
            (json!({"n": 2, "token": "s3cret"}), None),
            (json!({"n": 1}), None),
            (json!({"header": ["Basic QWxhZGRpbg=="]}), Some("by header")),
            (json!({"header": ["Bearer QWxhZGRpbg=="]}), None),
        ] {
            let said = answer(&responses, args.clone());
            assert_eq!(said, expected.map(Value::from), "{args}");
        }
    }
}
