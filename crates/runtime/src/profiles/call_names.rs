//! How a recorded call is shown to a caller, whose profile may have other names for the tools.

use serde_json::{Map, Value};
use switchboard_toolcall::Visibility;

use crate::{fixed, record::CallStart, services, tools::ToolManager};

/// The names of a recorded call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallNames<'a> {
    /// The tool, by its name in the config or the one that the caller used.
    pub tool: &'a str,
    /// What the profile of the call called it, if that differs.
    pub shown_as: Option<&'a str>,
    /// The profile through which it was called.
    pub profile: Option<&'a str>,
    /// Who called it.
    pub caller: Option<&'a str>,
}

impl<'a> CallNames<'a> {
    /// Returns the names of a call that began.
    pub fn of(start: &'a CallStart) -> Self {
        Self {
            tool: &start.tool,
            shown_as: start.shown_as.as_deref(),
            profile: start.profile.as_deref(),
            caller: start.caller.as_deref(),
        }
    }
}

impl ToolManager {
    /// Returns whether a caller named `own` may know of a call of `tool`, as the config names it, that `caller` made.
    ///
    /// Our own tools answer each caller differently: the answer to another caller could reveal tools that are hidden
    /// from this one.
    pub fn knows_call(
        &self,
        own: Option<&str>,
        visibility: &Visibility,
        tool: &str,
        caller: Option<&str>,
    ) -> bool {
        self.shown_call(own, visibility, &CallNames { tool, caller, ..CallNames::default() })
            .is_some()
    }

    /// Returns what a caller named `own` calls the tool of a recorded call. `None` if it may not know of the call.
    pub fn shown_call(
        &self,
        own: Option<&str>,
        visibility: &Visibility,
        call: &CallNames<'_>,
    ) -> Option<String> {
        let is_cut = || visibility.hides_tools() && services::NAMES.contains(&call.tool);
        if !visibility.knows_caller(own, call.caller) || (own != call.caller && is_cut()) {
            return None;
        }
        // In a profile, even who watches sees no calls of others: their errors and hints name what is outside of it.
        if visibility.profile().is_some() && own != call.caller {
            return None;
        }
        self.shown_tool(visibility, call)
    }

    /// Returns what the caller calls the tool of a recorded call, whoever made it. `None` if it does not exist for the caller.
    pub fn shown_tool(&self, visibility: &Visibility, call: &CallNames<'_>) -> Option<String> {
        let Some(profile) = visibility.profile() else {
            let is_seen = match self.get(call.tool) {
                Some(tool) => tool.is_visible(visibility),
                None => visibility.sees_name(call.tool),
            };
            return is_seen.then(|| call.tool.to_owned());
        };
        if call.profile == Some(&**profile.name()) {
            let asked = call.shown_as.unwrap_or(call.tool);
            return self.is_visible(asked, visibility).then(|| asked.to_owned());
        }
        match self.get(call.tool) {
            Some(tool) => Some(self.view(&tool, visibility)?.name().to_string()),
            None if visibility.sees_name(call.tool) => {
                Some(profile.rules()?.shown_name(call.tool).to_owned())
            }
            None => None,
        }
    }

    /// Removes what callers of the tool neither see nor send from recorded arguments. `shown` is its name for the caller.
    pub fn shown_arguments(
        &self,
        visibility: &Visibility,
        shown: &str,
        arguments: &mut Map<String, Value>,
    ) {
        if visibility.profile().is_none() {
            return;
        }
        if let Some(tool) = self.get_for(shown, visibility) {
            fixed::strip(&tool, arguments);
        }
    }
}
