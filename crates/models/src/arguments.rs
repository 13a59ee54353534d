//! The arguments that a model wrote for a call, which need not be JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The arguments of a call, as the model wrote them.
///
/// In transcripts an object is what it is, and a string is text that was no JSON object.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// A JSON object, as it should be.
    Object(Map<String, Value>),
    /// Something else: the call cannot run, and its slot says why.
    Unparsable(UnparsableArguments),
}

/// Arguments that are no JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not a JSON object: {problem}")]
pub struct UnparsableArguments {
    /// The text as the model wrote it.
    pub raw: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Arguments {
    /// Parses arguments that came as text. An empty text and `null` mean that there are none; an object that was encoded twice
    /// is decoded twice.
    pub fn parse(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(raw) {
            Ok(Value::Null) => Self::Object(Map::new()),
            Ok(Value::Object(object)) => Self::Object(object),
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(Value::Object(object)) => Self::Object(object),
                _ => Self::unparsable(raw, "they are a string"),
            },
            Ok(Value::Array(_)) => Self::unparsable(raw, "they are an array"),
            Ok(_) => Self::unparsable(raw, "they are a bare value"),
            Err(error) => Self::unparsable(raw, &error.to_string()),
        }
    }

    /// Reads arguments that came as a JSON value: an object, or text that holds one.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(object) => Self::Object(object),
            Value::Null => Self::Object(Map::new()),
            Value::String(text) => Self::parse(&text),
            other => Self::parse(&other.to_string()),
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Unparsable(_) => None,
        }
    }

    /// Returns the object as it is sent back to providers: an empty one if the model wrote none, because they reject a history
    /// with broken arguments.
    pub(crate) fn to_replay(&self) -> Map<String, Value> {
        self.as_object().cloned().unwrap_or_default()
    }

    fn unparsable(raw: &str, problem: &str) -> Self {
        Self::Unparsable(UnparsableArguments { raw: raw.to_owned(), problem: problem.to_owned() })
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(object) => object.serialize(serializer),
            Self::Unparsable(text) => text.raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from_value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // ML-3, ML-5
    #[test]
    fn text_becomes_an_object_or_stays_what_it_was() {
        let check = |raw: &str| match Arguments::parse(raw) {
            Arguments::Object(object) => Value::Object(object),
            Arguments::Unparsable(text) => {
                assert_eq!(text.raw, raw);
                json!(text.problem)
            }
        };
        assert_eq!(check(""), json!({}));
        assert_eq!(check(" \n"), json!({}));
        assert_eq!(check("null"), json!({}));
        assert_eq!(check(r#"{"a":1.0}"#).to_string(), r#"{"a":1.0}"#);
        assert_eq!(check(r#""{\"a\":1}""#), json!({"a": 1}));
        assert_eq!(check("[1]"), json!("they are an array"));
        assert_eq!(check(r#""plain""#), json!("they are a string"));
        assert_eq!(check("7"), json!("they are a bare value"));
        assert_eq!(check(r#"{"a":"#), json!("EOF while parsing a value at line 1 column 5"));
    }

    #[test]
    fn transcripts_keep_both_kinds() {
        for text in [r#"{"n":12345678901234567890.10}"#, r#""{\"a\":""#] {
            let arguments: Arguments = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&arguments).unwrap(), text);
        }
    }
}
