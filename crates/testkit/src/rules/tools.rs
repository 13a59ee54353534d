//! What tools must look like.

use std::collections::HashSet;

use serde_json::Value;

use super::{BrokenRule, is_plain, text};

/// Names are plain, short and unique; parameters are one object.
pub(super) fn check<'a>(
    tools: impl Iterator<Item = (&'a Value, &'a Value)>,
    broken: &mut BrokenRule,
) {
    let mut names = HashSet::new();
    for (tool, schema) in tools {
        let name = text(tool, "name");
        broken.unless(is_plain(name) && name.len() <= 64, || format!("tool name {name:?}"));
        broken.unless(names.insert(name), || format!("tool {name} twice"));
        broken
            .unless(schema["type"] == "object", || format!("{name}: parameters are not an object"));
        for union in ["oneOf", "anyOf", "allOf", "enum", "not"] {
            broken.unless(schema.get(union).is_none(), || format!("{name}: {union} at the top"));
        }
        broken.unless(!schema.to_string().contains("\"$ref\""), || format!("{name}: a reference"));
    }
}
