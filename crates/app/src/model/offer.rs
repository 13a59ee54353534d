//! What a model gets: its tools (SPEC ML-9), and its system prompt.

use anyhow::Context;
use switchboard_agent::{Agent, Config, Conversation, RunRecording};
use switchboard_toolcall::ToolPatterns;

use super::ChosenModel;
use crate::{
    assembly::App, cli::ModelArgs, model, profiles, records, settings::LoadedConfig, terminal,
};

impl ChosenModel {
    /// Returns the agent for this model, with the tools that it is offered: those of `--tools`, or of its config, or all.
    ///
    /// # Errors
    /// A pattern is invalid.
    pub(crate) fn agent(
        &self,
        asked: &ModelArgs,
        app: &App,
        loaded: &LoadedConfig,
        mut config: Config,
    ) -> anyhow::Result<Agent> {
        config.max_iterations = asked.max_iterations.unwrap_or(config.max_iterations);
        profiles::check(loaded, asked.profile.as_deref())?;
        let mut agent = Agent::new(self.model.clone(), app.executor.clone(), config)
            .seeing(app.model_visibility(loaded, asked.profile.as_deref()));
        if let Some(tools) = self.offered(&asked.tools)? {
            agent = agent.offering(tools);
        }
        if let Some(summariser) = model::summariser(loaded)? {
            agent = agent.with_summariser(summariser);
        }
        if let Some(recording) = records::run_recording(loaded, &self.name) {
            agent = agent.with_recording(RunRecording {
                tools: asked.tools.clone(),
                profile: asked.profile.clone(),
                ..recording
            });
        }
        Ok(agent)
    }

    /// Returns which tools it is offered; `None` means all.
    pub(crate) fn offered(&self, patterns: &[String]) -> anyhow::Result<Option<ToolPatterns>> {
        if patterns.is_empty() {
            return Ok(self.tools.clone());
        }
        let patterns: Vec<_> = patterns.iter().flat_map(|pattern| split(pattern)).collect();
        ToolPatterns::new(&patterns).map(Some).context("--tools")
    }
}

impl ModelArgs {
    /// Creates a conversation, with the system prompt if one was given.
    pub(crate) fn conversation(&self) -> Conversation {
        let system = self.system.as_ref();
        system.map_or_else(Conversation::new, Conversation::with_system)
    }
}

/// Warns of a pattern that matches no tool, which is usually a mistake.
pub(crate) fn tell_unmatched(asked: &ModelArgs, app: &App, loaded: &LoadedConfig) {
    let seen = app.model_visibility(loaded, asked.profile.as_deref());
    let all = app.executor.tools().listed_for(&seen);
    for pattern in asked.tools.iter().flat_map(|pattern| split(pattern)) {
        let is_matched = ToolPatterns::new(&[pattern])
            .is_ok_and(|globs| all.iter().any(|tool| globs.matches(tool.name())));
        if !is_matched && !pattern.is_empty() {
            terminal::tell(&format!("warning: no tool matches --tools {pattern}"));
        }
    }
}

/// Splits a list of patterns at its commas, except those in braces.
fn split(patterns: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let at_comma = |letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    patterns.split(at_comma).map(str::trim).collect()
}
