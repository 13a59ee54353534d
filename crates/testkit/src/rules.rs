//! What providers reject, as far as their documentation says it: the rules that no type can express.
//!
//! Each provider's module looks at the body of one request and names what is broken in it.

mod anthropic;
mod ollama;
mod openai;
mod openai_responses;
mod tools;

use serde_json::Value;

/// What a provider would reject in this body; `provider` as configs write it.
///
/// # Panics
/// There is no such provider.
pub fn broken(provider: &str, body: &Value) -> Vec<String> {
    let mut broken = BrokenRule::default();
    match provider {
        "anthropic" => anthropic::check(body, &mut broken),
        "openai" => openai::check(body, &mut broken),
        "openai-responses" => openai_responses::check(body, &mut broken),
        "ollama" => ollama::check(body, &mut broken),
        other => panic!("no rules for `{other}`"),
    }
    broken.0
}

/// What was found so far.
#[derive(Default)]
struct BrokenRule(Vec<String>);

impl BrokenRule {
    /// Records `rule` as broken unless it holds.
    fn unless(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            self.0.push(rule());
        }
    }
}

/// The items under `key`; `None` if there is no list.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a name or an id is made of the characters that all of them take.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

#[cfg(test)]
mod tests;
