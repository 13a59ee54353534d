//! Questions of servers as MCP writes them: elicitation, sampling and roots.

use serde_json::{Map, Value, json};
use switchboard_toolcall::{CallerChannel, QuestionKind, ServerQuestion};

const ALL: [QuestionKind; 3] = [QuestionKind::Elicit, QuestionKind::Sample, QuestionKind::Roots];

/// Returns the method with which a server asks.
pub fn method(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Elicit => "elicitation/create",
        QuestionKind::Sample => "sampling/createMessage",
        QuestionKind::Roots => "roots/list",
    }
}

/// Returns the kind of question that a method asks; `None` if it asks none.
pub fn kind(name: &str) -> Option<QuestionKind> {
    ALL.into_iter().find(|kind| method(*kind) == name)
}

/// Returns the capability of a client that can be asked.
fn capability(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Elicit => "elicitation",
        QuestionKind::Sample => "sampling",
        QuestionKind::Roots => "roots",
    }
}

/// Returns whether a client with these capabilities can be asked.
pub fn declares(capabilities: &Value, kind: QuestionKind) -> bool {
    capabilities.get(capability(kind)).is_some()
}

/// Returns the capabilities of a client that answers questions of some kinds.
pub fn capabilities(answers: impl Fn(QuestionKind) -> bool) -> Value {
    let declared = ALL.into_iter().filter(|kind| answers(*kind)).map(|kind| {
        let details = match kind {
            QuestionKind::Elicit => json!({"form": {}, "url": {}}),
            QuestionKind::Sample | QuestionKind::Roots => json!({}),
        };
        (capability(kind).to_owned(), details)
    });
    Value::Object(declared.collect())
}

/// Returns the capabilities that are declared with a call.
pub fn capabilities_of(caller: &dyn CallerChannel) -> Value {
    match caller.declared() {
        Some(declared) => declared.clone(),
        None => capabilities(|kind| caller.answers(kind)),
    }
}

/// Reads the `inputRequests` of a result.
///
/// # Errors
/// The method of the first request that asks no question.
pub fn read(requests: &Map<String, Value>) -> Result<Vec<(String, ServerQuestion)>, String> {
    let question = |(key, request): (&String, &Value)| {
        let name = request["method"].as_str().unwrap_or_default();
        let kind = kind(name).ok_or_else(|| name.to_owned())?;
        Ok((key.clone(), ServerQuestion { kind, params: request["params"].clone() }))
    };
    requests.iter().map(question).collect()
}

/// Returns a question as one of `inputRequests`.
pub fn to_json(question: &ServerQuestion) -> Value {
    match &question.params {
        Value::Null => json!({"method": method(question.kind)}),
        params => json!({"method": method(question.kind), "params": params}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_they_are_written() {
        let requests = json!({
            "b": {"method": "elicitation/create", "params": {"message": "who"}},
            "a": {"method": "roots/list"},
            "c": {"method": "sampling/createMessage", "params": {"maxTokens": 1}},
        });
        let questions = read(requests.as_object().unwrap()).unwrap();
        let written = questions.iter().map(|(key, question)| (key.clone(), to_json(question)));
        assert_eq!(Value::Object(written.collect()).to_string(), requests.to_string());
        let unknown = json!({"a": {"method": "roots/list"}, "b": {"method": "ping"}, "c": 7});
        assert_eq!(read(unknown.as_object().unwrap()), Err("ping".to_owned()));
        assert_eq!(read(json!({"a": 7}).as_object().unwrap()), Err(String::new()));
    }

    #[test]
    fn capabilities_say_what_can_be_asked() {
        let declared = capabilities(|kind| kind != QuestionKind::Roots);
        assert_eq!(declared, json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}}));
        let found = ALL.map(|kind| declares(&declared, kind));
        assert_eq!(found, [true, true, false]);
    }
}
