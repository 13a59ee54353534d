//! Arguments that the config fixes (SPEC TK-4): callers neither see nor choose them, and they are always sent.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use switchboard_toolcall::{Strictness, ToolSpec};

use crate::{
    tools::{AddError, ToolManager},
    validate::SchemaCheck,
};

impl ToolManager {
    /// Sets the arguments that the tool's definition fixes, so that the record shows what is sent.
    pub(crate) fn fix(&self, name: &str, args: &mut Map<String, Value>) {
        // Most configs fix nothing, and then nothing needs to be looked up.
        if self.fixes.load(Ordering::Relaxed)
            && let Some(tool) = self.get(name)
        {
            put(tool.spec(), args);
        }
    }
}

/// Sets the fixed arguments, replacing what the caller sent.
pub(crate) fn put(spec: &ToolSpec, args: &mut Map<String, Value>) {
    for (name, fixed) in &spec.settings.fixed {
        args.insert(name.clone(), fixed.value.clone());
    }
}

/// Removes the caller's values for fixed arguments, so that the shown schema applies to the rest.
pub(crate) fn take_out(spec: &ToolSpec, args: &mut Map<String, Value>) {
    if !spec.settings.fixed.is_empty() {
        args.retain(|name, _| !spec.settings.fixed.contains_key(name));
    }
}

/// Checks the fixed values against the tool's own schema.
///
/// # Errors
/// Says which value does not fit, and why.
pub(crate) fn check(spec: &ToolSpec) -> Result<(), AddError> {
    if spec.settings.fixed.is_empty() {
        return Ok(());
    }
    let mut own = spec.parameters.as_object().cloned().unwrap_or_default();
    let mut properties =
        own.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, fixed) in &spec.settings.fixed {
        properties.insert(name.clone(), fixed.schema.clone());
    }
    // Required parameters are required of callers, not of the config.
    own.retain(|key, _| matches!(key.as_str(), "$schema" | "$defs" | "definitions" | "$id"));
    own.insert("properties".to_owned(), Value::Object(properties));
    let tool = || spec.name.clone();
    let check = SchemaCheck::compile(&Value::Object(own), Strictness::Lenient)
        .map_err(|reason| AddError::Schema { tool: tool(), reason })?;
    let mut args = Map::new();
    put(spec, &mut args);
    match check.problems(&Value::Object(args)) {
        Some(problems) => Err(AddError::Fixed(tool(), problems)),
        None => Ok(()),
    }
}
