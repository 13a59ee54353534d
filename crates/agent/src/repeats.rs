//! Notices a model that goes round in circles.

use std::collections::HashMap;

use serde_json::Value;
use switchboard_models::{Arguments, ModelCall};
use switchboard_toolcall::numbers;

/// From this time on the result says that the call was made before.
const NUDGE_AT: u32 = 3;
/// At this time the call is not run, and the loop stops.
const STOP_AT: u32 = 5;

/// How often each call was made in one run, successes included.
#[derive(Default)]
pub(crate) struct Repeats(HashMap<(String, String), u32>);

/// What to do with a repeated call.
#[derive(Debug, PartialEq)]
pub(crate) enum Repeat {
    /// Nothing.
    Fine,
    /// The result has this note for the model.
    Nudge(String),
    /// The call is not run, for this reason.
    Stop(String),
}

impl Repeats {
    /// Counts the call.
    pub(crate) fn count(&mut self, call: &ModelCall) -> Repeat {
        let key = (call.name.clone(), canonical(&call.args));
        let times = self.0.entry(key).or_default();
        *times += 1;
        let name = &call.name;
        match *times {
            ..NUDGE_AT => Repeat::Fine,
            NUDGE_AT..STOP_AT => Repeat::Nudge(format!(
                "Note: '{name}' has now been called {times} times with the same arguments. Use the results you have, \
                 try something else, or answer."
            )),
            STOP_AT.. => Repeat::Stop(format!(
                "Tool '{name}' was not run: it was asked for {times} times with the same arguments"
            )),
        }
    }
}

/// The same text for the same arguments, however they are written.
fn canonical(args: &Arguments) -> String {
    match args {
        Arguments::Object(object) => numbers::canonical(&Value::Object(object.clone())).to_string(),
        Arguments::Unparsable(text) => text.raw.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-4
    #[test]
    fn the_same_arguments_are_the_same_however_written() {
        let check =
            |a: &str, b: &str| canonical(&Arguments::parse(a)) == canonical(&Arguments::parse(b));
        assert!(check(r#"{"a":1,"b":{"c":2,"d":[3]}}"#, r#"{"b":{"d":[3.0],"c":2},"a":1.0}"#));
        assert!(check("", "{}"));
        assert!(!check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#));
        assert!(!check(r#"{"a":1}"#, r#"{"a":"1"}"#));
        assert!(check(r#"{"a":"#, r#"{"a":"#));
    }
}
