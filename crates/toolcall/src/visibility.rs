//! What a caller may know: which tools exist for it, and whether it knows of other callers' calls (SPEC GW-5).

use std::{fmt, sync::Arc};

use crate::{Profile, profile::IN_EVERY_PROFILE, profile::ProfileRules};

/// Decides by a tool's name whether the tool exists for a caller.
type ToolFilter = dyn Fn(&str) -> bool + Send + Sync;

/// Which tools exist for a caller and how they look, and whose calls it may know of. Cheap to clone.
///
/// The default has no restrictions: for embedders, the command line and the owner of the machine.
#[derive(Clone, Default)]
pub struct Visibility {
    tools: Option<Arc<ToolFilter>>,
    profile: Option<Arc<Profile>>,
    /// Tools that exist whatever the others say.
    names: &'static [&'static str],
    own_calls_only: bool,
}

impl Visibility {
    /// Creates a visibility with only the tools whose name `sees` accepts.
    pub fn of_tools(sees: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { tools: Some(Arc::new(sees)), ..Self::default() }
    }

    /// Creates a visibility with only the tools of a profile, as they look there.
    pub fn of_profile(profile: Arc<Profile>) -> Self {
        Self { profile: Some(profile), ..Self::default() }
    }

    /// Adds tools with these names.
    #[must_use]
    pub fn with_names(mut self, names: &'static [&'static str]) -> Self {
        self.names = names;
        self
    }

    /// Returns the names that [`Self::with_names`] added.
    pub fn added_names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Limits it to the tools that `sees` accepts, too. A tool that a profile renames is asked for under all its names.
    #[must_use]
    pub fn narrowed(mut self, sees: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.tools = Some(match self.tools {
            Some(own) => Arc::new(move |name: &str| own(name) && sees(name)),
            None => Arc::new(sees),
        });
        self
    }

    /// Limits it to the tools of a profile, too, as they look there. It replaces a profile that it had.
    #[must_use]
    pub fn within(mut self, profile: Arc<Profile>) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Limits it to its own calls unless `watches` is true.
    #[must_use]
    pub fn watching(mut self, watches: bool) -> Self {
        self.own_calls_only = !watches;
        self
    }

    /// Limits it to what somebody else sees, and to the caller's own calls.
    #[must_use]
    pub fn limited_to(self, other: &Self) -> Self {
        let limited = match other.tools.clone() {
            Some(bound) => self.narrowed(move |name| bound(name)),
            None => self,
        };
        let limited = match (&limited.profile, &other.profile) {
            (None, Some(profile)) => limited.within(profile.clone()),
            // Nothing is in two profiles.
            (Some(own), Some(bound)) if own.name() != bound.name() => limited.narrowed(|_| false),
            _ => limited,
        };
        limited.watching(false)
    }

    /// Returns whether a tool with this name, as the config has it, exists for the caller. A tool has several names: use
    /// `ToolManager::view` if there is a tool.
    pub fn sees_name(&self, name: &str) -> bool {
        self.sees_names(&[name], None)
    }

    /// Returns whether a tool with these names, as the config has them, exists for the caller; `shown` is its name in the
    /// profile if it has another there.
    pub fn sees_names(&self, names: &[&str], shown: Option<&str>) -> bool {
        if names.iter().any(|name| self.names.contains(name)) {
            return true;
        }
        let is_in = self
            .profile
            .as_ref()
            .is_none_or(|profile| profile.rules().is_some_and(|rules| rules.includes(names)));
        let mut all = names.iter().copied().chain(shown);
        let is_always = || self.profile.is_some() && names.contains(&IN_EVERY_PROFILE);
        is_in && self.tools.as_ref().is_none_or(|sees| is_always() || all.any(|name| sees(name)))
    }

    /// Returns whether some tools are hidden from the caller.
    pub fn hides_tools(&self) -> bool {
        self.tools.is_some() || self.profile.is_some()
    }

    /// Returns the profile through which the caller sees the tools, if there is one.
    pub fn profile(&self) -> Option<&Arc<Profile>> {
        self.profile.as_ref()
    }

    /// Returns the rules of the profile as they are now.
    pub fn rules(&self) -> Option<Arc<ProfileRules>> {
        self.profile.as_ref()?.rules()
    }

    /// Returns the name in the config of the tool that the caller calls `name`; `None` if no tool has that name for it,
    /// because its profile shows it under another one.
    pub fn resolve(&self, name: &str) -> Option<String> {
        match &self.profile {
            None => Some(name.to_owned()),
            Some(profile) => Some(profile.rules()?.resolve(name)?.to_owned()),
        }
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
            .field("profile", &self.profile)
            .field("own_calls_only", &self.own_calls_only)
            .finish()
    }
}
