//! The profiles of the config: checked, and chosen by `--profile` (SPEC FT-5).

use anyhow::bail;
use switchboard_runtime::lookup::close_names;
use switchboard_toolcall::{ProfileRules, Visibility};

use crate::{assembly::App, own_gateway::SERVER_NAME, settings::LoadedConfig};

const SEARCH: &str = "tool_search";

/// Returns the profiles of the config, by name.
///
/// # Errors
/// Some cannot be used; the texts say why.
pub(crate) fn rules(loaded: &LoadedConfig) -> Result<Vec<(String, ProfileRules)>, Vec<String>> {
    let (mut profiles, mut problems) = (Vec::new(), Vec::new());
    for (name, config) in &loaded.settings.profiles {
        let compiled = match is_name(name) {
            true => ProfileRules::new(config.clone()).map_err(|error| error.to_string()),
            false => Err("its name may have letters, digits, `-`, `_` and `.`".to_owned()),
        };
        match compiled {
            Ok(rules) => profiles.push((name.clone(), rules)),
            Err(problem) => {
                let place = loaded.place_of_profile(name);
                problems.push(format!("{place}: profile `{name}`: {problem}"));
            }
        }
    }
    if problems.is_empty() { Ok(profiles) } else { Err(problems) }
}

/// Whether a profile may have this name, which stands in the address of its MCP server.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

/// Checks that the config has the profile that `--profile` names.
///
/// # Errors
/// There is no profile of this name; the text names a similar one.
pub(crate) fn check(loaded: &LoadedConfig, name: Option<&str>) -> anyhow::Result<()> {
    let Some(name) = name else { return Ok(()) };
    let known = &loaded.settings.profiles;
    if known.contains_key(name) {
        return Ok(());
    }
    let close = close_names(name, known.keys().map(String::as_str));
    let way_out = match (close.first(), known.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => "the config has no [profiles.*]".to_owned(),
        (None, false) => {
            let known: Vec<_> = known.keys().map(String::as_str).collect();
            format!("the config has {}", known.join(", "))
        }
    };
    bail!("there is no profile `{name}`; {way_out}")
}

impl App {
    /// Returns what a caller with this profile sees. If all tools are those of the running gateway, that has applied the
    /// profile already.
    pub(crate) fn visibility(&self, loaded: &LoadedConfig, profile: Option<&str>) -> Visibility {
        if loaded.is_attached && profile.is_some() {
            // What is not there is not found, whichever server its name begins with.
            return Visibility::of_tools(|_| true);
        }
        let profile = profile.and_then(|name| self.executor.tools().profile(name));
        profile.map(Visibility::of_profile).unwrap_or_default()
    }

    /// Returns what a model sees that is asked with this profile. The running gateway lists `tool_search` for models that
    /// search, also if the profile does not have it.
    pub(crate) fn model_visibility(
        &self,
        loaded: &LoadedConfig,
        profile: Option<&str>,
    ) -> Visibility {
        let seen = self.visibility(loaded, profile);
        let profile = profile.and_then(|name| loaded.settings.profiles.get(name));
        match profile.filter(|_| loaded.is_attached).cloned().map(ProfileRules::new) {
            Some(Ok(rules)) if !rules.includes(&[SEARCH]) => {
                let full = format!("{SERVER_NAME}{}{SEARCH}", self.executor.tools().separator());
                seen.narrowed(move |name| name != SEARCH && name != full)
            }
            _ => seen,
        }
    }
}
