//! Asks for what `${input:x}` stands for, once each (SPEC MC-8).

use std::collections::HashMap;

use anyhow::Context;
use switchboard_mcp_client::ServerConfig;

use crate::{
    settings::inputs::{self, ConfigInput},
    terminal::ask,
};

/// The answers so far.
pub(super) struct InputAnswers<'a> {
    inputs: &'a [ConfigInput],
    given: HashMap<String, String>,
}

impl<'a> InputAnswers<'a> {
    pub(super) fn new(inputs: &'a [ConfigInput]) -> Self {
        Self { inputs, given: HashMap::new() }
    }

    /// Puts the answers in the place of a server's `${input:…}`, or skips the server if there is no terminal to ask on.
    ///
    /// # Errors
    /// There is no answer.
    pub(super) fn fill(&mut self, config: &mut ServerConfig) -> anyhow::Result<()> {
        match inputs::first(config).filter(|_| !ask::is_possible()) {
            Some(id) => {
                config.skipped = Some(format!(
                    "`${{input:{id}}}` has to be asked for, and there is no terminal to ask on; \
                     `switchboard import` makes an environment variable of it"
                ));
                Ok(())
            }
            None => inputs::fill(config, &mut |id| self.to(id)),
        }
    }

    fn to(&mut self, id: &str) -> anyhow::Result<String> {
        if let Some(answer) = self.given.get(id) {
            return Ok(answer.clone());
        }
        let unknown = ConfigInput { id: id.to_owned(), ..ConfigInput::default() };
        let input = self.inputs.iter().find(|input| input.id == id).unwrap_or(&unknown);
        let answer = ask(input).with_context(|| format!("no answer to `${{input:{id}}}`"))?;
        self.given.insert(id.to_owned(), answer.clone());
        Ok(answer)
    }
}

fn ask(input: &ConfigInput) -> anyhow::Result<String> {
    let ConfigInput { id, description, default, password, options } = input;
    let mut question = description.clone().unwrap_or_else(|| id.clone());
    if !options.is_empty() {
        question = format!("{question} ({})", options.join(", "));
    }
    if let Some(default) = default.as_ref().filter(|_| !password) {
        question = format!("{question} [{default}]");
    }
    question.push_str(": ");
    loop {
        let answer = if *password { ask::secret(&question)? } else { ask::line(&question)? };
        let answer = match (answer.is_empty(), default) {
            (true, Some(default)) => default.clone(),
            _ => answer,
        };
        if options.is_empty() || options.contains(&answer) {
            return Ok(answer);
        }
    }
}
