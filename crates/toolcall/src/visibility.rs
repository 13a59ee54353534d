//! What a caller may know: which tools exist for it, and whether it knows of other callers' calls (SPEC GW-5).

use std::{fmt, sync::Arc};

/// Decides by a tool's name whether the tool exists for a caller.
type ToolFilter = dyn Fn(&str) -> bool + Send + Sync;

/// Which tools exist for a caller, and whose calls it may know of. Cheap to clone.
///
/// The default has no restrictions: for embedders, the command line and the owner of the machine.
#[derive(Clone, Default)]
pub struct Visibility {
    tools: Option<Arc<ToolFilter>>,
    own_calls_only: bool,
}

impl Visibility {
    /// Creates a visibility with only the tools whose name `sees` accepts.
    pub fn of_tools(sees: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { tools: Some(Arc::new(sees)), own_calls_only: false }
    }

    /// Adds tools with these names.
    #[must_use]
    pub fn with_names(mut self, names: &'static [&'static str]) -> Self {
        self.tools = self.tools.map(|sees| -> Arc<ToolFilter> {
            Arc::new(move |name: &str| names.contains(&name) || sees(name))
        });
        self
    }

    /// Limits it to the caller's own calls unless `watches` is true.
    #[must_use]
    pub fn watching(mut self, watches: bool) -> Self {
        self.own_calls_only = !watches;
        self
    }

    /// Returns whether a tool with this name exists for the caller. A tool has several names: use
    /// `RegisteredTool::is_visible` if there is a tool.
    pub fn sees_name(&self, name: &str) -> bool {
        self.tools.as_ref().is_none_or(|sees| sees(name))
    }

    /// Returns whether some tools are hidden from the caller.
    pub fn hides_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Returns whether the caller may know of everybody's calls of visible tools, and of servers' errors.
    pub fn watches(&self) -> bool {
        !self.own_calls_only
    }

    /// Returns whether a caller named `own` may know of calls that `caller` made.
    pub fn knows_caller(&self, own: Option<&str>, caller: Option<&str>) -> bool {
        self.watches() || own == caller
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visibility")
            .field("hides_tools", &self.hides_tools())
            .field("own_calls_only", &self.own_calls_only)
            .finish()
    }
}
