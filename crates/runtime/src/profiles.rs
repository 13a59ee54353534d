//! What a caller sees of the tools: those of its profile, under the profile's names and with the profile's arguments
//! (SPEC FT-5, GW-5).
//!
//! Everything that lists, finds or reports tools to a caller gets them here, so that a tool looks the same everywhere. A tool
//! that a profile changes is a [`RegisteredTool`] of its own, around the same tool.

mod call_names;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoxFuture, CallContext, CallId, Profile, ProfileRules, Tool, ToolChange, ToolError, ToolOutput,
    ToolSpec, Visibility,
};
use tracing::warn;

use crate::{
    fixed,
    tools::{AddError, RegisteredTool, ToolManager},
    validate::SchemaCheck,
};

pub use call_names::CallNames;

/// The profiles of the config, and the tools that they change, as they look there.
#[derive(Default)]
pub(crate) struct Profiles {
    by_name: RwLock<BTreeMap<Arc<str>, Arc<Profile>>>,
    /// By the profile's rules and the tool's full name.
    changed: Mutex<HashMap<(usize, Arc<str>), ChangedTool>>,
}

/// A tool as a profile shows it; valid for these rules and this definition.
struct ChangedTool {
    rules: Arc<ProfileRules>,
    original: Arc<RegisteredTool>,
    /// `None` if the change does not fit the tool.
    shown: Option<Arc<RegisteredTool>>,
}

impl ToolManager {
    /// Replaces the profiles, also for callers who use them now. A profile that is not among them has no tools any more.
    pub fn set_profiles(&self, profiles: Vec<(String, ProfileRules)>) {
        let mut by_name = self.profiles.by_name.write().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |name: &str| profiles.iter().all(|(kept, _)| kept != name);
        by_name.iter().filter(|(name, _)| is_gone(name)).for_each(|(_, gone)| gone.set(None));
        for (name, rules) in profiles {
            match by_name.get(&*name) {
                Some(known) => known.set(Some(rules)),
                None => _ = by_name.insert(name.as_str().into(), Profile::new(&name, Some(rules))),
            }
        }
        drop(by_name);
        self.profiles.changed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.changed();
    }

    /// Returns the profile of this name.
    pub fn profile(&self, name: &str) -> Option<Arc<Profile>> {
        let by_name = self.profiles.by_name.read().unwrap_or_else(PoisonError::into_inner);
        by_name.get(name).filter(|profile| profile.rules().is_some()).cloned()
    }

    /// Returns the profiles, by name.
    pub fn profiles(&self) -> Vec<Arc<Profile>> {
        let by_name = self.profiles.by_name.read().unwrap_or_else(PoisonError::into_inner);
        by_name.values().filter(|profile| profile.rules().is_some()).cloned().collect()
    }

    /// Returns the tool as the caller sees it. `None` if it does not exist for the caller.
    pub fn view(
        &self,
        tool: &Arc<RegisteredTool>,
        visibility: &Visibility,
    ) -> Option<Arc<RegisteredTool>> {
        let Some(rules) = visibility.rules() else {
            return tool.is_visible(visibility).then(|| tool.clone());
        };
        let names = [&**tool.full_name(), &**tool.name()];
        let Some((original, change)) = rules.change(&names) else {
            // A tool that got this tool's name in the profile hides it there.
            let is_taken = rules.original(tool.name()).is_some();
            return (!is_taken && tool.is_visible(visibility)).then(|| tool.clone());
        };
        let shown = change.renames(original).then_some(change.name.as_deref()).flatten();
        if !visibility.sees_names(&[tool.name(), tool.full_name()], shown) {
            return None;
        }
        self.changed_tool(tool, &rules, change, shown)
    }

    /// Returns all tools that exist for the caller, as it sees them, in order.
    pub fn all_for(&self, visibility: &Visibility) -> Vec<Arc<RegisteredTool>> {
        let all = self.all();
        all.iter().filter_map(|tool| self.view(tool, visibility)).collect()
    }

    /// Returns the tools that are listed to the caller, as it sees them, in order: not those that the policy denies.
    pub fn listed_for(&self, visibility: &Visibility) -> Vec<Arc<RegisteredTool>> {
        let listed = self.listed();
        listed.iter().filter_map(|tool| self.view(tool, visibility)).collect()
    }

    /// Returns the tool that the caller calls by this name, as it sees it, without logging or suggesting others.
    pub fn get_for(&self, name: &str, visibility: &Visibility) -> Option<Arc<RegisteredTool>> {
        self.view_as(name, &self.get(&visibility.resolve(name)?)?, visibility)
    }

    /// Returns whether the tool that the caller calls by this name exists for it. If there is no such tool (its server is
    /// connecting or gone), the name alone decides.
    pub fn is_visible(&self, name: &str, visibility: &Visibility) -> bool {
        let Some(original) = visibility.resolve(name) else { return false };
        match self.get(&original) {
            Some(tool) => self.view_as(name, &tool, visibility).is_some(),
            None => visibility.sees_names(&[&*original], Some(name)),
        }
    }

    /// Returns a tool as the rules change it.
    fn changed_tool(
        &self,
        tool: &Arc<RegisteredTool>,
        rules: &Arc<ProfileRules>,
        change: &ToolChange,
        shown: Option<&str>,
    ) -> Option<Arc<RegisteredTool>> {
        let key = (Arc::as_ptr(rules).addr(), tool.full_name().clone());
        let mut changed = self.profiles.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = changed.get(&key)
            && Arc::ptr_eq(&known.rules, rules)
            && Arc::ptr_eq(&known.original, tool)
        {
            return known.shown.clone();
        }
        let shown = tool.changed_by(change, shown);
        if let Err(error) = &shown {
            let name = tool.name();
            warn!(tool = &**name, %error, "'{name}' is left out of a profile: {error}");
        }
        let shown = shown.ok().map(Arc::new);
        let entry =
            ChangedTool { rules: rules.clone(), original: tool.clone(), shown: shown.clone() };
        changed.insert(key, entry);
        shown
    }
}

impl RegisteredTool {
    /// Returns the arguments of a call as the tool gets them: with those that are fixed, and without hidden ones.
    pub fn sent_arguments(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        fixed::strip(self, &mut arguments);
        fixed::put(self.spec(), &mut arguments);
        arguments
    }

    /// Returns the tool as a profile shows it.
    fn changed_by(
        self: &Arc<Self>,
        change: &ToolChange,
        shown: Option<&str>,
    ) -> Result<Self, AddError> {
        let mut spec = change.apply(self.spec());
        if shown.is_none() {
            spec.name.clone_from(&self.spec().name);
        }
        let check = SchemaCheck::compile(&spec.parameters, self.check.strictness())
            .map_err(|reason| AddError::Schema { tool: spec.name.clone(), reason })?;
        fixed::check(&spec)?;
        let tool = Arc::new(ProfiledTool { spec, tool: self.tool().clone() });
        let name = shown.map_or_else(|| self.name().clone(), Arc::from);
        Ok(Self::of_profile(self, name, tool, Arc::new(check)))
    }
}

/// A tool with the definition that a profile shows.
struct ProfiledTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl Tool for ProfiledTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.tool.call(args, cx).await.map_err(|error| self.renamed(error)) })
    }

    fn enqueue<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        Box::pin(
            async move { self.tool.enqueue(args, cx).await.map_err(|error| self.renamed(error)) },
        )
    }
}

impl ProfiledTool {
    /// Returns the error with the profile's name of the tool: a tool speaks of itself by its own.
    fn renamed(&self, mut error: ToolError) -> ToolError {
        let (own, shown) = (&self.tool.spec().name, &self.spec.name);
        if own != shown {
            let (own, shown) = (format!("'{own}'"), format!("'{shown}'"));
            error.for_model = error.for_model.replace(&own, &shown);
            error.hint = error.hint.map(|hint| hint.replace(&own, &shown));
        }
        error
    }
}
