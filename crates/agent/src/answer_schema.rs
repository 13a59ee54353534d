//! Answers that have to fit a JSON Schema (SPEC RN-4).

use std::{fmt, sync::Arc};

use serde_json::{Value, json};
use switchboard_runtime::validate::{SchemaCheck, SchemaError};
use switchboard_toolcall::Strictness;

/// The member that holds an answer whose schema is not that of an object.
const HELD: &str = "answer";

/// What an answer has to fit. Cheap to clone.
#[derive(Clone)]
pub struct AnswerSchema {
    schema: Arc<Value>,
    check: Arc<SchemaCheck>,
    /// Whether the schema is of something else than an object, which is checked as a member of one.
    is_held: bool,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the answer cannot be used: {0}")]
pub struct InvalidSchema(String);

impl AnswerSchema {
    /// Prepares a schema.
    ///
    /// # Errors
    /// It is no valid JSON Schema, or one that would take too long to check.
    pub fn new(schema: Value) -> Result<Self, InvalidSchema> {
        if !schema.is_object() {
            return Err(InvalidSchema("it must be an object".to_owned()));
        }
        let (check, is_held) = match SchemaCheck::compile(&schema, Strictness::Strict) {
            Err(SchemaError::NotAnObject(_)) => {
                (SchemaCheck::compile(&holding(&schema), Strictness::Strict), true)
            }
            check => (check, false),
        };
        let check = check.map_err(|error| InvalidSchema(error.to_string()))?;
        Ok(Self { schema: Arc::new(schema), check: Arc::new(check), is_held })
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the answer as JSON text, without what models write around it.
    ///
    /// # Errors
    /// The answer is no JSON, or does not fit: everything that is wrong with it.
    pub(crate) fn read(&self, answer: &str) -> Result<String, String> {
        let text = without_fence(answer.trim());
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the answer is not JSON: {error}"))?;
        let problems = match self.is_held {
            true => self.check.problems(&json!({HELD: value})),
            false if value.is_object() => self.check.problems(&value),
            false => Some("the answer must be an object".to_owned()),
        };
        match problems {
            Some(problems) => Err(problems),
            None => Ok(text.to_owned()),
        }
    }

    /// Returns what the model is told before it answers.
    pub(crate) fn instructions(&self) -> String {
        format!(
            "Give your final answer as JSON alone, with no words and no code fence around it. It must fit this JSON Schema:\n{}",
            self.schema
        )
    }

    /// Returns what the model is told about an answer that does not fit.
    pub(crate) fn reminder(problems: &str) -> String {
        format!(
            "Your answer does not fit its JSON Schema: {problems}. Answer again, with JSON alone that fits it."
        )
    }
}

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerSchema").field(&self.schema).finish()
    }
}

/// Returns the schema of an object that has the answer as its member; references into the schema still lead there.
fn holding(schema: &Value) -> Value {
    let mut holder = json!({"type": "object", "properties": {HELD: schema}, "required": [HELD]});
    for key in ["$schema", "$defs", "definitions"] {
        if let Some(value) = schema.get(key) {
            holder[key] = value.clone();
        }
    }
    holder
}

/// Returns the text within a code fence, if it is all in one.
fn without_fence(text: &str) -> &str {
    let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let inner = fenced.and_then(|fenced| fenced.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schema: Value, answer: &str) -> Result<String, String> {
        AnswerSchema::new(schema).unwrap().read(answer)
    }

    // RN-4
    #[test]
    fn answers_fit_or_say_what_is_wrong() {
        let city = json!({"type": "object", "properties": {"city": {"type": "string"}, "temp": {"type": "integer"}},
            "required": ["city", "temp"]});
        let answer = r#"{"city":"Bonn","temp":21}"#;
        assert_eq!(read(city.clone(), answer).as_deref(), Ok(answer));
        assert_eq!(read(city.clone(), &format!("```json\n{answer}\n```\n")).as_deref(), Ok(answer));
        assert_eq!(
            read(city.clone(), r#"{"city":7}"#).unwrap_err(),
            "missing 'temp'; 'city' must be string, got integer"
        );
        assert!(
            read(city.clone(), "It is warm.").unwrap_err().starts_with("the answer is not JSON")
        );
        assert_eq!(read(city, "[1]").unwrap_err(), "the answer must be an object");
        let list = json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "number"}}});
        assert_eq!(read(list.clone(), "[1, 2.5]").as_deref(), Ok("[1, 2.5]"));
        assert!(read(list, r#"["a"]"#).unwrap_err().contains("answer[0]"));
        assert_eq!(read(json!({"type": "object"}), "{}").as_deref(), Ok("{}"));
        for wrong in [json!({"type": 7}), json!([]), json!({"$ref": "http://a.example/x"})] {
            assert!(AnswerSchema::new(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
