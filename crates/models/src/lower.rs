//! Tools as providers take them: names of 64 plain characters, schemas without references and top-level unions.
//!
//! Pure: the canonical [`ToolSpec`] stays as it is, and arguments are validated against it, not against what was sent.

mod names;
mod schema;
mod refs;
mod union;
mod fold;

use serde::Serialize;
use serde_json::Value;
use switchboard_toolcall::ToolSpec;

pub use names::Names;
pub(crate) use names::hash;

use crate::Provider;

/// Tools ready to be sent, in the order in which they were given.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoweredTools {
    /// What is sent.
    pub tools: Vec<LoweredTool>,
    /// Which name stands for which.
    pub names: Names,
}

/// One tool as it is sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoweredTool {
    /// At most 64 characters of `[a-zA-Z0-9_-]`.
    pub name: String,
    /// The description, with what the schema can no longer say.
    pub description: String,
    /// A schema of type object.
    pub parameters: Value,
    /// What was changed, for people.
    pub notes: Vec<String>,
}

/// What was changed of one tool for one provider; `doctor` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lowering {
    /// The tool's own name.
    pub tool: String,
    /// The name that was sent.
    pub sent_as: String,
    /// What was changed.
    pub notes: Vec<String>,
}

/// Lowers tools for a provider.
pub fn tools(provider: Provider, specs: &[&ToolSpec]) -> LoweredTools {
    let names = Names::new(specs.iter().map(|spec| &*spec.name));
    let tools = specs.iter().map(|spec| tool(provider, spec, &names)).collect();
    LoweredTools { tools, names }
}

fn tool(provider: Provider, spec: &ToolSpec, names: &Names) -> LoweredTool {
    let name = names.wire_name(&spec.name).into_owned();
    let mut notes = Vec::new();
    if name != spec.name {
        notes.push(format!("the name is sent as `{name}`"));
    }
    let lowered = schema::lower(&spec.parameters, provider, &mut notes);
    let description = match lowered.hint {
        Some(hint) if spec.description.is_empty() => hint,
        Some(hint) => format!("{} {hint}", spec.description),
        None => spec.description.clone(),
    };
    LoweredTool { name, description, parameters: lowered.schema, notes }
}

/// What a provider does not get as the tools say it; tools that are sent unchanged are left out.
pub fn report(provider: Provider, specs: &[&ToolSpec]) -> Vec<Lowering> {
    let lowered = tools(provider, specs).tools;
    specs
        .iter()
        .zip(lowered)
        .filter(|(_, lowered)| !lowered.notes.is_empty())
        .map(|(spec, lowered)| Lowering {
            tool: spec.name.clone(),
            sent_as: lowered.name,
            notes: lowered.notes,
        })
        .collect()
}

#[cfg(test)]
mod tests;
