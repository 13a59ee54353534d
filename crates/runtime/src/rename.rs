//! The argument names that an MCP server expects (SPEC AN).
//!
//! Models write `device_name`, many servers expect `deviceName`, and MCP clients do not rename anything. Names are
//! changed here, before validation, so that the schema applies to what will be sent. Only top-level keys of server
//! tools change, never values; local tools get exactly what was sent.

use serde_json::{Map, Value};
use switchboard_toolcall::{Normalize, ToolOrigin, ToolSpec};
use tracing::{debug, enabled, warn};

use crate::redact;

/// Returns the arguments under the names that the tool's server expects.
pub fn for_server(spec: &ToolSpec, args: Map<String, Value>) -> Map<String, Value> {
    if spec.origin == ToolOrigin::Local || args.keys().all(|key| new_name(spec, key).is_none()) {
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

/// Returns the server's name for `key`, if it differs.
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

/// Converts `snake_case` to `snakeCase`. Returns `None` without an underscore within.
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
