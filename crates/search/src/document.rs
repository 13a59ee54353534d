//! What is indexed of a tool.

use serde_json::Value;
use switchboard_toolcall::ToolSpec;

/// A tool, as the index reads it.
#[derive(Clone, Copy)]
pub struct ToolDocument<'a> {
    pub(crate) name: &'a str,
    pub(crate) spec: &'a ToolSpec,
    pub(crate) instructions: Option<&'a str>,
}

impl<'a> ToolDocument<'a> {
    /// Creates the document of a tool that is shown as `name`.
    pub fn new(name: &'a str, spec: &'a ToolSpec) -> Self {
        Self { name, spec, instructions: None }
    }

    /// Adds the instructions of the tool's server.
    #[must_use]
    pub fn instructions(mut self, instructions: Option<&'a str>) -> Self {
        self.instructions = instructions;
        self
    }

    /// Returns the tool's server; empty for a local tool.
    pub(crate) fn server(&self) -> &'a str {
        self.spec.server().map_or("", |server| server)
    }

    /// Returns the name without the server's.
    pub(crate) fn own_name(&self) -> &'a str {
        match &self.spec.origin {
            switchboard_toolcall::ToolOrigin::Server { tool, .. } => tool,
            switchboard_toolcall::ToolOrigin::Local => self.name,
        }
    }

    pub(crate) fn title(&self) -> &'a str {
        let extra = &self.spec.extra;
        let title = extra.get("title").or_else(|| extra.get("annotations")?.get("title"));
        title.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the description's first sentence and the rest of it.
    pub(crate) fn description(&self) -> (&'a str, &'a str) {
        let text = self.spec.description.trim();
        let ends = |(at, c): (usize, char)| match c {
            '\n' => Some(at),
            '.' | '!' | '?' if text[at + 1..].starts_with(char::is_whitespace) => Some(at + 1),
            _ => None,
        };
        text.split_at(text.char_indices().find_map(ends).unwrap_or(text.len()))
    }

    /// Returns the top-level parameters, each with its description.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let properties = self.spec.parameters.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(|(name, schema)| {
            let description = schema.get("description").and_then(Value::as_str);
            (&**name, description.unwrap_or_default())
        })
    }
}
