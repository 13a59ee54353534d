//! The argument names that an MCP server expects (SPEC AN).
//!
//! Models write `device_name`, many servers expect `deviceName`, and no MCP client renames anything by
//! itself. We fix names here, in one place before validation, so that the schema judges what will be sent.
//! Only top-level keys of server tools change, never values; local tools get exactly what was sent.

use serde_json::{Map, Value};
use switchboard_toolcall::{Normalize, Origin, ToolSpec};
use tracing::{debug, enabled, warn};

use crate::redact;

/// The arguments under the names that the tool's server expects.
pub fn for_server(spec: &ToolSpec, args: Map<String, Value>) -> Map<String, Value> {
    if spec.origin == Origin::Local || args.keys().all(|key| new_name(spec, key).is_none()) {
        return args;
    }
    let before = enabled!(tracing::Level::DEBUG).then(|| redact::object(&args));
    let taken: Vec<String> = args.keys().cloned().collect();
    let mut renamed = Map::with_capacity(args.len());
    for (key, value) in args {
        let key = match new_name(spec, &key) {
            Some(name) if taken.contains(&name) || renamed.contains_key(&name) => {
                warn!(
                    tool = spec.name,
                    "'{key}' and '{name}' are both given; both are left as they are"
                );
                key
            }
            Some(name) => name,
            None => key,
        };
        renamed.insert(key, value);
    }
    if let Some(before) = before {
        debug!(tool = spec.name, "{before} → {}", redact::object(&renamed));
    }
    renamed
}

/// What `key` is called at the server, where that differs.
pub fn new_name(spec: &ToolSpec, key: &str) -> Option<String> {
    let settings = &spec.settings;
    let declared = |key: &str| spec.parameters["properties"].get(key).is_some();
    let mapped = || settings.rename.get(key).cloned();
    match settings.normalize {
        Normalize::Never => None,
        Normalize::Auto if declared(key) => None,
        Normalize::Auto => mapped().or_else(|| camel_case(key).filter(|name| declared(name))),
        Normalize::Always => mapped().or_else(|| camel_case(key)),
    }
    .filter(|name| name != key)
}

/// `snake_case` → `snakeCase`, where there is an underscore within.
fn camel_case(key: &str) -> Option<String> {
    let word = key.trim_start_matches('_');
    if !word.trim_end_matches('_').contains('_') {
        return None;
    }
    let mut camel = key[..key.len() - word.len()].to_owned();
    let mut capital = false;
    for letter in word.chars() {
        match letter {
            '_' => capital = true,
            letter if capital => {
                camel.extend(letter.to_uppercase());
                capital = false;
            }
            letter => camel.push(letter),
        }
    }
    Some(camel)
}
