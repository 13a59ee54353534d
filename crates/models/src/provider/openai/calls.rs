//! Puts fragments of calls together, although ids and indexes are missing, repeated or shifted.

use serde_json::{Map, Value};

use super::argument_text::ArgumentText;
use crate::{Arguments, json, sink::Sink, turn::DraftCall};

/// The calls of one answer, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct CallFragments(Vec<CallFragment>);

#[derive(Debug, Default)]
struct CallFragment {
    id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: ArgumentText,
    /// Arguments that came as JSON instead of text.
    object: Option<Value>,
    /// Other fields that the server wants back, such as thought signatures.
    extra: Map<String, Value>,
}

impl CallFragment {
    fn args(&self) -> Arguments {
        match &self.object {
            Some(object) => Arguments::from_value(object.clone()),
            None => Arguments::parse(self.arguments.text()),
        }
    }

    /// Whether nothing is missing, so that more of the same must be another call.
    fn is_whole(&self) -> bool {
        self.object.is_some() || self.arguments.is_whole()
    }
}

impl CallFragments {
    /// Takes a fragment `{index?, id?, function: {name?, arguments?}}`.
    pub(super) fn take(&mut self, fragment: &Value, sink: &mut Sink<'_>) {
        let function = fragment.get("function").unwrap_or(fragment);
        let (id, index) = (json::id(fragment), json::number(fragment, "index"));
        let name = json::text(function, "name").unwrap_or_default();
        if id.is_some_and(|id| self.is_repeat(id, function)) {
            return;
        }
        let position = self.position(id, index, name);
        if position == self.0.len() {
            self.0.push(CallFragment { index, ..CallFragment::default() });
        }
        let call = &mut self.0[position];
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        if call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut call.name);
            sink.call(name);
        }
        match function.get("arguments") {
            Some(Value::String(text)) => call.arguments.push(text),
            Some(object @ Value::Object(_)) => call.object = Some(object.clone()),
            _ => {}
        }
        if let (Some(fields), true) = (fragment.as_object(), fragment.get("function").is_some()) {
            let known = ["id", "index", "type", "function"];
            let vendors =
                fields.iter().filter(|(key, value)| !known.contains(&&***key) && !value.is_null());
            call.extra.extend(vendors.map(|(key, value)| (key.clone(), value.clone())));
        }
    }

    /// Whether a fragment only says again what is complete: some servers end with all calls once more, and running
    /// one twice is worse than anything.
    fn is_repeat(&self, id: &str, function: &Value) -> bool {
        let mut known =
            self.0.iter().filter(|call| call.id.as_deref() == Some(id) && call.is_whole());
        let again = function.get("arguments").cloned().unwrap_or_default();
        match Arguments::from_value(again) {
            Arguments::Object(again) if again.is_empty() => known.next().is_some(),
            again => known.any(|call| call.args() == again),
        }
    }

    /// Which call a fragment belongs to; one past the last for a new one.
    fn position(&self, id: Option<&str>, index: Option<u64>, name: &str) -> usize {
        let new = self.0.len();
        if let Some(id) = id {
            if let Some(known) = self.0.iter().rposition(|call| call.id.as_deref() == Some(id)) {
                return self.unless_another(known, name);
            }
            // The id may come late, but only for a call that has none and is still open.
            let late = self.same_index(index).filter(|at| {
                let call = &self.0[*at];
                call.id.is_none() && !call.is_whole() && (name.is_empty() || call.name.is_empty())
            });
            return late.unwrap_or(new);
        }
        match (index, self.same_index(index)) {
            (Some(_), Some(at)) => self.unless_another(at, name),
            (Some(_), None) => new,
            (None, _) if new == 0 => new,
            (None, _) => self.unless_another(new - 1, name),
        }
    }

    fn same_index(&self, index: Option<u64>) -> Option<usize> {
        let index = index?;
        self.0.iter().rposition(|call| call.index == Some(index))
    }

    /// Returns the index of the call at `at`, or of a new one if the fragment names a tool although that call already has a name
    /// and is complete: servers that send whole calls give all of them the index 0, or the same id.
    fn unless_another(&self, at: usize, name: &str) -> usize {
        let call = &self.0[at];
        let another = !name.is_empty()
            && !call.name.is_empty()
            && (call.is_whole() || (call.name != name && call.arguments.text().is_empty()));
        if another { self.0.len() } else { at }
    }

    /// The calls, and what their server wants to see again of each.
    pub(super) fn finish(self) -> (Vec<DraftCall>, Vec<Map<String, Value>>) {
        // A server's way to say that there is no call.
        let real = self
            .0
            .into_iter()
            .filter(|call| !call.name.is_empty() || !call.arguments.text().is_empty());
        real.map(|call| {
            let args = call.args();
            (DraftCall { id: call.id, name: call.name, args }, call.extra)
        })
        .unzip()
    }
}
