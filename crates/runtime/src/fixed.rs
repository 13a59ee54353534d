//! Arguments that the config fixes (SPEC TK-4) or that a profile fixes or hides (SPEC FT-5): callers neither see nor choose
//! them. Fixed ones are always sent, hidden ones never.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use switchboard_toolcall::{Strictness, ToolOrigin, ToolSpec, Visibility};

use crate::{
    rename,
    tools::{AddError, RegisteredTool, ToolManager},
    validate::SchemaCheck,
};

impl ToolManager {
    /// Sets the arguments that the tool's definition fixes and removes hidden ones, so that the record shows what is sent.
    pub(crate) fn fix(&self, name: &str, args: &mut Map<String, Value>, visibility: &Visibility) {
        // Most configs fix nothing, and then nothing needs to be looked up.
        if !self.fixes.load(Ordering::Relaxed) && visibility.profile().is_none() {
            return;
        }
        match self.get_for(name, visibility) {
            Some(tool) => {
                strip(&tool, args);
                put(tool.spec(), args);
            }
            None => self.fix_unknown(name, args, visibility),
        }
    }

    /// Sets and removes what the caller's profile fixes and hides of a tool whose server is not connected yet. Of a tool that is
    /// there and that the caller may not see, nothing is set: nobody who watches is to read it in the record.
    fn fix_unknown(&self, name: &str, args: &mut Map<String, Value>, visibility: &Visibility) {
        let Some(rules) = visibility.rules() else { return };
        let Some(original) = rules.resolve(name) else { return };
        let Some((_, change)) = rules.change(&[original]) else { return };
        let is_there = self.get(original).is_some();
        for (argument, change) in &change.arguments {
            if change.hidden || change.fixed.is_some() {
                args.shift_remove(argument);
            }
            if let Some(value) = change.fixed.as_ref().filter(|_| !is_there) {
                args.insert(argument.clone(), value.clone());
            }
        }
    }
}

/// Sets the fixed arguments.
pub(crate) fn put(spec: &ToolSpec, args: &mut Map<String, Value>) {
    for (name, fixed) in &spec.settings.fixed {
        args.insert(name.clone(), fixed.value.clone());
    }
}

/// Removes the caller's values for fixed and hidden arguments, also under names that would become theirs, so that the shown
/// schema applies to the rest.
pub(crate) fn strip(tool: &RegisteredTool, args: &mut Map<String, Value>) {
    let settings = &tool.spec().settings;
    if settings.fixed.is_empty() && settings.hidden.is_empty() {
        return;
    }
    let is_taken = |name: &str| settings.fixed.contains_key(name) || settings.hidden.contains(name);
    // The shown schema no longer declares them, so names are changed by the tool's own.
    let own = tool.original().spec();
    let becomes_taken = |name: &str| {
        own.origin != ToolOrigin::Local
            && rename::new_name(own, name).is_some_and(|renamed| is_taken(&renamed))
    };
    args.retain(|name, _| !is_taken(name) && !becomes_taken(name));
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
