//! A description as it was written, its version, and what its references refer to.

use serde_json::{Map, Value};
use switchboard_toolcall::text::percent_decoded;

use crate::yaml;

/// How many references in a row are followed.
const MAX_STEPS: usize = 32;

/// A parsed description.
pub(crate) struct ApiDocument {
    pub(crate) root: Value,
    pub(crate) version: Version,
}

/// The versions of the format, which differ in where things are and in what schemas mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Swagger2,
    OpenApi30,
    /// 3.1 and later, whose schemas are JSON Schema.
    OpenApi31,
}

/// A value with the pointer at which it is, without the `#`.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedReference<'a> {
    pub(crate) value: &'a Value,
    /// `None` if no reference was followed.
    pub(crate) pointer: Option<String>,
}

impl ApiDocument {
    /// Parses JSON or YAML.
    ///
    /// # Errors
    /// It is neither, or no description of a version that is known.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let root: Value = match text.trim_start().starts_with('{') {
            true => match serde_json::from_str(text) {
                Ok(root) => root,
                // A flow mapping of YAML begins in the same way.
                Err(error) => yaml::parse(text).map_err(|_| format!("it is not JSON: {error}"))?,
            },
            false => yaml::parse(text).map_err(|error| format!("it is not YAML: {error}"))?,
        };
        let version = Version::of(&root)?;
        match root.get("paths") {
            Some(Value::Object(_)) => Ok(Self { root, version }),
            // 3.1 allows descriptions of webhooks only.
            None if version == Version::OpenApi31 => Ok(Self { root, version }),
            _ => Err("it has no `paths`".to_owned()),
        }
    }

    /// Follows the value's `$ref`, as often as it has one.
    ///
    /// # Errors
    /// The reference leads out of the document, to nothing, or in a circle.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Value) -> Result<ResolvedReference<'a>, String> {
        let mut found = ResolvedReference { value, pointer: None };
        for _ in 0..MAX_STEPS {
            let Some(reference) = reference(found.value) else { return Ok(found) };
            found = self.at(reference)?;
        }
        Err("its references lead in a circle".to_owned())
    }

    /// Returns what a reference refers to.
    ///
    /// # Errors
    /// It leads out of the document, or to nothing.
    pub(crate) fn at(&self, reference: &str) -> Result<ResolvedReference<'_>, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!(
                "it refers to `{}`, which is not in the description: put it into one file, for instance with `redocly bundle`",
                short(reference)
            ));
        };
        let pointer = percent_decoded(pointer).into_owned();
        match self.root.pointer(&pointer) {
            Some(value) => Ok(ResolvedReference { value, pointer: Some(pointer) }),
            None => Err(format!("it refers to `{}`, which is not there", short(reference))),
        }
    }

    /// Returns a text of `info`.
    pub(crate) fn info(&self, key: &str) -> Option<&str> {
        self.root["info"][key].as_str()
    }

    /// Returns the version as it is written.
    pub(crate) fn written_version(&self) -> String {
        let version = self.root.get("openapi").or_else(|| self.root.get("swagger"));
        match version {
            Some(Value::String(text)) => text.clone(),
            other => other.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// Returns the `$ref` of a value, if it has one.
pub(crate) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()
}

/// Returns the value's members; none if it is no object.
pub(crate) fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn short(text: &str) -> String {
    switchboard_toolcall::text::one_line(&text.chars().take(100).collect::<String>())
}

impl Version {
    fn of(root: &Value) -> Result<Self, String> {
        let text = |key: &str| match root.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        match (text("openapi"), text("swagger")) {
            (Some(version), _) if version.starts_with("3.0") => Ok(Self::OpenApi30),
            (Some(version), _) if version.starts_with("3.") => Ok(Self::OpenApi31),
            (None, Some(version)) if version.starts_with('2') => Ok(Self::Swagger2),
            (Some(version), _) | (None, Some(version)) => {
                let version = short(&version);
                Err(format!("it is of version `{version}`; known are OpenAPI 3 and Swagger 2"))
            }
            (None, None) => {
                Err("it has neither `openapi` nor `swagger`, so it is not a description of an API"
                    .to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TK-3
    #[test]
    fn versions_and_formats_are_told_apart() {
        for (text, version) in [
            (r#"{"openapi":"3.0.3","paths":{}}"#, Version::OpenApi30),
            ("\u{feff}openapi: 3.1.0\npaths: {}\n", Version::OpenApi31),
            ("openapi: 3.2.0\n", Version::OpenApi31),
            ("{swagger: 2.0, paths: {}}", Version::Swagger2),
            ("swagger: '2.0'\npaths: {}\n", Version::Swagger2),
        ] {
            assert_eq!(ApiDocument::parse(text).map(|read| read.version), Ok(version), "{text}");
        }
        for (text, says) in [
            ("", "neither `openapi` nor"),
            ("<html>", "neither `openapi` nor"),
            ("{\"openapi\":", "not JSON"),
            ("openapi: 3.0.0\n", "no `paths`"),
            ("openapi: 4.0.0\npaths: {}\n", "`4.0.0`"),
            ("swagger: '1.2'\npaths: {}\n", "`1.2`"),
        ] {
            let error = ApiDocument::parse(text).err().unwrap();
            assert!(error.contains(says), "{error}");
        }
    }

    // TK-3
    #[test]
    fn references_are_followed_within_the_document() {
        let text = r##"{"openapi":"3.0.0","paths":{},"a":{"$ref":"#/b~1c%20d"},"b/c d":{"x":1},
            "e":{"$ref":"#/e"},"f":{"$ref":"other.yaml#/x"},"g":{"$ref":"#/gone"}}"##;
        let document = ApiDocument::parse(text).unwrap();
        let found = |key: &str| document.resolve(&document.root[key]);
        let first = found("a").unwrap();
        assert_eq!(
            (first.value["x"].as_u64(), first.pointer.as_deref()),
            (Some(1), Some("/b~1c d"))
        );
        assert!(found("e").unwrap_err().contains("circle"));
        assert!(found("f").unwrap_err().contains("`other.yaml#/x`, which is not in"));
        assert!(found("g").unwrap_err().contains("which is not there"));
    }
}
