//! What a model is given: its tools (SPEC ML-9), and what it should know.

use anyhow::Context;
use switchboard_agent::{Agent, Config, Conversation};
use switchboard_toolcall::ToolPatterns;

use super::ChosenModel;
use crate::{assembly::App, cli::ModelArgs, terminal};

impl ChosenModel {
    /// The loop around this model, with the tools that it is offered: those of `--tools`, or of its config, or all.
    ///
    /// # Errors
    /// A pattern is none.
    pub(crate) fn agent(
        &self,
        asked: &ModelArgs,
        app: &App,
        mut config: Config,
    ) -> anyhow::Result<Agent> {
        config.max_iterations = asked.max_iterations.unwrap_or(config.max_iterations);
        let agent = Agent::new(self.model.clone(), app.executor.clone(), config);
        Ok(match self.offered(&asked.tools)? {
            Some(tools) => agent.offering(tools),
            None => agent,
        })
    }

    /// Which tools it is offered; all where there are no patterns.
    pub(crate) fn offered(&self, patterns: &[String]) -> anyhow::Result<Option<ToolPatterns>> {
        if patterns.is_empty() {
            return Ok(self.tools.clone());
        }
        let patterns: Vec<_> = patterns.iter().flat_map(|pattern| split(pattern)).collect();
        ToolPatterns::new(&patterns).map(Some).context("--tools")
    }
}

impl ModelArgs {
    /// A conversation that begins with what the model should know, if that was said.
    pub(crate) fn conversation(&self) -> Conversation {
        let system = self.system.as_ref();
        system.map_or_else(Conversation::new, Conversation::with_system)
    }
}

/// Tells of a pattern that finds no tool, which is more often a slip than meant.
pub(crate) fn tell_unmatched(patterns: &[String], app: &App) {
    let all = app.executor.tools().listed();
    for pattern in patterns.iter().flat_map(|pattern| split(pattern)) {
        let is_matched = ToolPatterns::new(&[pattern])
            .is_ok_and(|globs| all.iter().any(|tool| globs.matches(tool.name())));
        if !is_matched && !pattern.is_empty() {
            terminal::tell(&format!("warning: no tool matches --tools {pattern}"));
        }
    }
}

/// The patterns of a list; commas in braces belong to a pattern.
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
