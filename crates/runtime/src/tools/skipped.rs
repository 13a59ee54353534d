//! Local tools that the config defines but that cannot be used.

use super::ToolManager;

impl ToolManager {
    /// Sets the local tools that are skipped because something they need is missing, each with the reason. A call of
    /// one fails as `unavailable` with the reason; no server's tool is found under its name.
    pub fn skip(&self, tools: &[(String, String)]) {
        let mut registry = self.write();
        registry.skip(tools);
        registry.settle_names(&self.separator);
        drop(registry);
        self.changed();
    }

    /// Returns whether the name is that of a skipped local tool, and of no other tool.
    pub fn is_skipped(&self, name: &str) -> bool {
        let registry = self.read();
        registry.skipped.contains_key(name) && !registry.names.contains_key(name)
    }
}
