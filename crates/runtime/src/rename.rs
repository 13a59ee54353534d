//! The argument names that an MCP server expects (SPEC AN).
//!
//! Models write `device_name`, many servers expect `deviceName`, and no MCP client renames anything by
//! itself. We fix names here, in one place before validation, so that the schema judges what will be sent.
//! Only top-level keys of server tools change, never values; local tools get exactly what was sent.

use serde_json::{Map, Value};
use switchboard_toolcall::{Normalize, Origin, ToolSpec};
use tracing::{debug, enabled, warn};

use crate::redact;

/// Names that are mapped without any config: (tool at its server, given, expected).
const BUILT_IN: &[(&str, &str, &str)] = &[
    ("control_zwave_device", "device_name", "deviceName"),
    ("control_zwave_device", "command", "action"),
    ("control_zwave_device", "brightness", "level"),
];

/// The arguments under the names that the tool's server expects.
pub fn for_server(spec: &ToolSpec, args: Map<String, Value>) -> Map<String, Value> {
    let Origin::Server { tool, .. } = &spec.origin else {
        return args;
    };
    if args.keys().all(|key| new_name(spec, tool, key).is_none()) {
        return args;
    }
    let before = enabled!(tracing::Level::DEBUG).then(|| redact::object(&args));
    let taken: Vec<String> = args.keys().cloned().collect();
    let mut renamed = Map::with_capacity(args.len());
    for (key, value) in args {
        let key = match new_name(spec, tool, &key) {
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

/// The names that a map knows for the tool: the config's, then the built-in ones.
pub fn mapped_names<'a>(spec: &'a ToolSpec, tool: &'a str) -> impl Iterator<Item = &'a str> {
    let built_in = BUILT_IN.iter().filter(move |(of, _, _)| *of == tool);
    spec.settings.rename.keys().map(String::as_str).chain(built_in.map(|(_, given, _)| *given))
}

/// What `key` is called at the server, where that differs.
pub fn new_name(spec: &ToolSpec, tool: &str, key: &str) -> Option<String> {
    let settings = &spec.settings;
    let declared = |key: &str| spec.parameters["properties"].get(key).is_some();
    let mapped = || {
        let built_in = || {
            let mut map = BUILT_IN.iter();
            let found = map.find(|(of, given, _)| *of == tool && *given == key);
            found.map(|(_, _, expected)| (*expected).to_owned())
        };
        settings.rename.get(key).cloned().or_else(built_in)
    };
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
