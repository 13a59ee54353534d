//! Profiles: views of the tools with their own names, descriptions and arguments (SPEC FT-5).

mod change;
mod config;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use crate::{PatternError, ToolPatterns};

pub use change::{ArgumentChange, ToolChange};
pub use config::{DiscoveryMode, ProfileConfig};

/// The tool that every profile has: without it, results that were truncated could not be read.
pub(crate) const IN_EVERY_PROFILE: &str = "read_result";

/// A profile by its name. Its rules can change while it is in use; a profile that is no longer in the config has none, and
/// then nothing is in it.
pub struct Profile {
    name: Arc<str>,
    rules: RwLock<Option<Arc<ProfileRules>>>,
}

impl Profile {
    /// Creates a profile; without rules, nothing is in it.
    pub fn new(name: &str, rules: Option<ProfileRules>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), rules: RwLock::new(rules.map(Arc::new)) })
    }

    /// Returns its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns its rules as they are now.
    pub fn rules(&self) -> Option<Arc<ProfileRules>> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces its rules, for everybody who uses it.
    pub fn set(&self, rules: Option<ProfileRules>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules.map(Arc::new);
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Profile").field(&self.name).finish()
    }
}

/// What is in a profile, and how it looks there.
#[derive(Debug, Default)]
pub struct ProfileRules {
    config: ProfileConfig,
    tools: ToolPatterns,
    deny: ToolPatterns,
    ask: ToolPatterns,
    pinned: ToolPatterns,
    /// The config's name of each renamed tool, by the name that the profile shows.
    originals: HashMap<String, String>,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A glob is invalid.
    #[error("`{key}`: {source}")]
    Glob {
        /// The key that has it.
        key: &'static str,
        /// What is wrong.
        source: PatternError,
    },
    /// Two tools would have the same name.
    #[error("`tool.\"{0}\".name` and `tool.\"{1}\".name` are both `{2}`")]
    SameName(String, String, String),
    /// A name cannot be used.
    #[error("`tool.\"{0}\".name`: `{1}` {2}")]
    Name(String, String, &'static str),
    /// An argument is changed in two ways that exclude each other.
    #[error("`tool.\"{0}\".arguments.{1}`: {2}")]
    Argument(String, String, &'static str),
}

impl ProfileRules {
    /// Checks and compiles a profile's settings.
    ///
    /// # Errors
    /// A glob, a name or an argument's settings are invalid.
    pub fn new(config: ProfileConfig) -> Result<Self, ProfileError> {
        let globs = |key, globs: &[String]| {
            ToolPatterns::new(globs).map_err(|source| ProfileError::Glob { key, source })
        };
        let (tools, pinned) = (globs("tools", &config.tools)?, globs("pinned", &config.pinned)?);
        let (deny, ask) = (globs("deny", &config.deny)?, globs("ask", &config.ask)?);
        let mut originals: HashMap<String, String> = HashMap::new();
        for (tool, change) in &config.tool {
            change.check(tool)?;
            let Some(name) = change.name.as_ref().filter(|name| *name != tool) else { continue };
            if let Some(other) = originals.insert(name.clone(), tool.clone()) {
                return Err(ProfileError::SameName(other, tool.clone(), name.clone()));
            }
        }
        Ok(Self { tools, deny, ask, pinned, originals, config })
    }

    /// Returns the settings.
    pub fn config(&self) -> &ProfileConfig {
        &self.config
    }

    /// Returns whether a tool with one of these names, as the config has them, is in the profile.
    pub fn includes(&self, names: &[&str]) -> bool {
        let is_denied = || names.iter().any(|name| self.deny.matches(name));
        names.contains(&IN_EVERY_PROFILE)
            || names.iter().any(|name| self.tools.matches(name)) && !is_denied()
    }

    /// Returns whether a tool with one of these names runs only if a person approves.
    pub fn asks(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.ask.matches(name))
    }

    /// Returns whether a tool with one of these names is listed besides search.
    pub fn pins(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.pinned.matches(name))
    }

    /// Returns how a tool with one of these names, as the config has them, looks in the profile; `None` if as everywhere.
    pub fn change(&self, names: &[&str]) -> Option<(&str, &ToolChange)> {
        let entry = |name: &&str| self.config.tool.get_key_value(*name);
        names.iter().find_map(entry).map(|(name, change)| (name.as_str(), change))
    }

    /// Returns the name in the config of the tool that the profile shows as `name`, if it is renamed.
    pub fn original(&self, name: &str) -> Option<&str> {
        self.originals.get(name).map(String::as_str)
    }

    /// Returns the name in the config of what the profile calls `name`: `None` if the profile shows that tool under
    /// another name.
    pub fn resolve<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        if let Some(original) = self.original(name) {
            return Some(original);
        }
        let is_renamed = self.config.tool.get(name).is_some_and(|change| change.renames(name));
        (!is_renamed).then_some(name)
    }

    /// Returns what the profile calls the tool of this name in the config.
    pub fn shown_name<'a>(&'a self, name: &'a str) -> &'a str {
        let change = self.config.tool.get(name);
        change.and_then(|change| change.name.as_deref()).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests;
