//! Reads JSON Schemas of parameters, as far as the command line needs it to parse and to show them.

use serde_json::{Map, Value};

/// How many parts of a schema are read at most; schemas written by people have fewer.
const MOST_PARTS: usize = 64;

/// A part of a schema; references lead into the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'a> {
    whole: &'a Value,
    part: &'a Value,
}

impl<'a> Schema<'a> {
    /// The whole schema of a tool's parameters.
    pub(crate) fn of(whole: &'a Value) -> Self {
        Self { whole, part: whole }
    }

    /// The declared property `name`.
    pub(crate) fn property(self, name: &str) -> Option<Self> {
        let parts = self.parts();
        let part = parts.iter().find_map(|part| part.get("properties")?.get(name))?;
        Some(Self { part, ..self })
    }

    /// The declared properties, in order.
    pub(crate) fn properties(self) -> Vec<(&'a str, Self)> {
        let declared =
            self.parts().into_iter().filter_map(|part| part.get("properties")?.as_object());
        let entries = declared.flat_map(Map::iter);
        entries.map(|(name, part)| (name.as_str(), Self { part, ..self })).collect()
    }

    /// Returns the parameter that a value without a key is for: the only required one, or the only one.
    pub(crate) fn only_parameter(self) -> Option<&'a str> {
        // With these keywords, which parameters are required may depend on other parameters.
        if ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| self.part.get(key).is_some()) {
            return None;
        }
        let required = self.part.get("required").and_then(Value::as_array);
        match required.map_or(&[][..], Vec::as_slice) {
            [one] => one.as_str(),
            [] => match &self.properties()[..] {
                [(name, _)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the schema of the items of a list.
    pub(crate) fn items(self) -> Option<Self> {
        let part = self.parts().into_iter().find_map(|part| part.get("items"))?;
        Some(Self { part, ..self })
    }

    /// Returns the names of the allowed types; none if the schema does not say.
    pub(crate) fn types(self) -> Vec<&'a str> {
        let mut types = Vec::new();
        for part in self.parts() {
            match part.get("type") {
                Some(Value::String(name)) => types.push(name.as_str()),
                Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
                _ if part.get("properties").is_some() => types.push("object"),
                _ if part.get("items").is_some() => types.push("array"),
                _ => {}
            }
        }
        let mut seen = Vec::new();
        types.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        types
    }

    /// Returns the only allowed values; none if the schema does not limit them.
    pub(crate) fn options(self) -> Vec<&'a Value> {
        let parts = self.parts().into_iter();
        let listed = parts.flat_map(|part| {
            let listed = part.get("enum").and_then(Value::as_array).into_iter().flatten();
            listed.chain(part.get("const"))
        });
        listed.collect()
    }

    /// Returns the value of a keyword in the first part that has it.
    pub(crate) fn keyword(self, name: &str) -> Option<&'a Value> {
        self.parts().into_iter().find_map(|part| part.get(name))
    }

    /// Returns the part itself, the parts that it refers to and those that it is composed of.
    fn parts(self) -> Vec<&'a Value> {
        let mut parts = vec![self.part];
        let mut next = 0;
        while next < parts.len() && parts.len() < MOST_PARTS {
            let part = parts[next];
            next += 1;
            let target =
                part.get("$ref").and_then(Value::as_str).and_then(|name| self.target(name));
            let composed = ["allOf", "anyOf", "oneOf"].into_iter();
            let composed = composed.filter_map(|name| part.get(name)?.as_array()).flatten();
            parts.extend(target.into_iter().chain(composed).take(MOST_PARTS));
        }
        parts
    }

    fn target(self, reference: &str) -> Option<&'a Value> {
        self.whole.pointer(reference.strip_prefix('#')?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_found_behind_references_and_unions() {
        let schema = json!({
            "properties": {
                "unit": {"$ref": "#/$defs/Unit"},
                "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "loop": {"$ref": "#/properties/loop"},
                "bomb": {"$ref": "#/$defs/Bomb"},
                "free": {},
            },
            "$defs": {
                "Unit": {"type": ["string", "null"], "enum": ["celsius", null]},
                "Bomb": {"allOf": [{"$ref": "#/$defs/Bomb"}, {"$ref": "#/$defs/Bomb"}]},
            }
        });
        let types = |name| Schema::of(&schema).property(name).unwrap().types();
        assert_eq!(types("unit"), ["string", "null"]);
        assert_eq!(types("count"), ["integer", "null"]);
        assert!(types("loop").is_empty() && types("bomb").is_empty() && types("free").is_empty());
        assert_eq!(Schema::of(&schema).property("unit").unwrap().options().len(), 2);
        assert!(Schema::of(&Value::Null).property("x").is_none());
    }
}
