//! Checks profiles: what of them is about no tool, and what of their changes does not fit (SPEC FT-5).

use std::sync::Arc;

use switchboard_runtime::{RegisteredTool, ToolManager};
use switchboard_toolcall::{DiscoveryMode, Profile, ToolPatterns, Visibility};

use super::{CheckStatus, DoctorCheck, checks::passed_limits};
use crate::assembly::App;

/// Checks each profile against the tools that there are; `discovery` is how clients list them unless the profile says so.
pub(super) fn all(app: &App, discovery: DiscoveryMode) -> Vec<DoctorCheck> {
    let tools = app.executor.tools();
    tools.profiles().into_iter().map(|profile| check(profile, tools, discovery)).collect()
}

fn check(profile: Arc<Profile>, tools: &ToolManager, discovery: DiscoveryMode) -> DoctorCheck {
    let name = format!("profile {}", profile.name());
    let all = tools.all();
    let mut problems = problems(&profile, &all);
    let mut status = CheckStatus::Info;
    let visibility = Visibility::of_profile(profile.clone());
    if let Some(rules) = profile.rules() {
        for tool in &all {
            let is_changed = rules.change(&[tool.full_name(), tool.name()]).is_some();
            if is_changed && tool.is_visible(&visibility) && tools.view(tool, &visibility).is_none()
            {
                problems.push(format!("`{}` is left out: its change does not fit it", tool.name()));
            }
        }
    }
    let count = tools.listed_for(&visibility).len();
    let own = profile.rules().and_then(|rules| rules.config().discovery);
    if own.unwrap_or(discovery) == DiscoveryMode::List
        && let Some(passed) = passed_limits(count)
    {
        status = CheckStatus::Warning;
        problems.push(format!("{passed}; with `discovery = \"search\"` they search instead"));
    }
    match problems.is_empty() {
        true => DoctorCheck::new(name, CheckStatus::Ok, format!("{count} tools")),
        false => DoctorCheck::new(name, status, problems.join("\n")),
    }
}

/// Returns the globs that match no tool, and the changes that are about none or about arguments that it does not have.
fn problems(profile: &Profile, all: &[Arc<RegisteredTool>]) -> Vec<String> {
    let Some(rules) = profile.rules() else { return Vec::new() };
    let config = rules.config();
    let globs = config.tools.iter().filter(|glob| {
        let glob = ToolPatterns::new(&[glob]).unwrap_or_default();
        !all.iter().any(|tool| [tool.full_name(), tool.name()].iter().any(|n| glob.matches(n)))
    });
    let mut problems: Vec<_> = globs.map(|glob| format!("`{glob}` matches no tool")).collect();
    for (name, change) in &config.tool {
        let is_its =
            |tool: &&Arc<RegisteredTool>| **tool.full_name() == **name || **tool.name() == **name;
        let Some(tool) = all.iter().find(is_its) else {
            problems.push(format!("`tool.\"{name}\"` is about no tool that there is"));
            continue;
        };
        let spec = tool.spec();
        let declared = &spec.parameters["properties"];
        let unknown = change.arguments.keys().filter(|argument| {
            declared.get(argument).is_none() && !spec.settings.fixed.contains_key(*argument)
        });
        problems.extend(unknown.map(|argument| {
            format!("`tool.\"{name}\".arguments.{argument}`: the tool has no such parameter")
        }));
    }
    problems
}
