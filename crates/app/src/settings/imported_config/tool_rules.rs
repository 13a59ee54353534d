//! Which tools of a server another program does not use, asks about, or runs without asking.

use serde_json::{Value, json};

/// The rules of another config for the tools of one server, by the tools' own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolRules {
    /// Not used.
    pub(crate) deny: Vec<String>,
    /// Asked about.
    pub(crate) ask: Vec<String>,
    /// Run without asking, while all others are asked about.
    pub(crate) unasked: Vec<String>,
}

/// A program's rule for a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolVerdict {
    Deny,
    Ask,
    Allow,
}

impl ToolVerdict {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "deny" | "never_allow" | "reject" => Some(Self::Deny),
            "ask" | "prompt" | "confirm" | "ask_before" => Some(Self::Ask),
            "allow" | "approve" | "always_allow" => Some(Self::Allow),
            _ => None,
        }
    }
}

impl ToolRules {
    pub(super) fn add(&mut self, verdict: ToolVerdict, tool: &str) {
        let list = match verdict {
            ToolVerdict::Deny => &mut self.deny,
            ToolVerdict::Ask => &mut self.ask,
            ToolVerdict::Allow => &mut self.unasked,
        };
        if !list.iter().any(|there| there == tool) {
            list.push(tool.to_owned());
        }
    }

    /// Returns `deny` and `ask` of `[policy]` for the server of this name.
    pub(crate) fn patterns(
        &self,
        server: &str,
        separator: &str,
    ) -> [(&'static str, Vec<String>); 2] {
        let full = |tools: &[String]| {
            tools.iter().map(|tool| format!("{server}{separator}{tool}")).collect::<Vec<_>>()
        };
        // If some tools run without asking, `*` cannot be asked about: `ask_if` says it for the others.
        let is_asked_by_rule = |tool: &&String| tool.as_str() == "*" && !self.unasked.is_empty();
        let ask: Vec<_> = self.ask.iter().filter(|tool| !is_asked_by_rule(tool)).cloned().collect();
        [("deny", full(&self.deny)), ("ask", full(&ask))]
    }

    /// Returns the expression of `ask_if` that asks about all tools but those that run without asking.
    pub(crate) fn ask_about_others(&self, server: &str, separator: &str) -> Option<String> {
        if self.unasked.is_empty() || self.unasked.iter().any(|tool| tool == "*") {
            return None;
        }
        let tools: Value =
            self.unasked.iter().map(|tool| format!("{server}{separator}{tool}")).collect();
        let server = json!(server);
        // Methods such as `resources/read` are not tools.
        Some(format!("server == {server} && !(tool in {tools}) && !tool.contains(\"/\")"))
    }
}
