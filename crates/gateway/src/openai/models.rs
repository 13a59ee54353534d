//! The models that chat clients may ask, by name.

use std::sync::{Arc, OnceLock};

use http::StatusCode;
use indexmap::IndexMap;
use switchboard_agent::{Agent, Config, Globs};
use switchboard_models::Model;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::BoxError;

use super::{failure::Failure, transcripts::Transcripts};

/// Makes a model's client.
pub type Connect = Box<dyn Fn() -> Result<Arc<dyn Model>, BoxError> + Send + Sync>;

/// The models that chat clients may ask, in order, and how the loop around them goes.
#[derive(Default)]
pub struct Models {
    entries: IndexMap<String, Entry>,
    config: Config,
    pub(super) transcripts: Transcripts,
}

struct Entry {
    tools: Option<Globs>,
    connect: Connect,
    model: OnceLock<Arc<dyn Model>>,
}

impl Models {
    /// No models yet, and the settings of the loop around them.
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// Adds a model that is connected when somebody first asks it, and is offered the tools that `tools` matches,
    /// or all.
    pub fn add(&mut self, name: impl Into<String>, tools: Option<Globs>, connect: Connect) {
        self.entries.insert(name.into(), Entry { tools, connect, model: OnceLock::new() });
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// The settings of the loop.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The loop around a model.
    pub(super) fn agent(&self, name: &str, executor: &ToolExecutor) -> Result<Agent, Failure> {
        let entry = self.entries.get(name).ok_or_else(|| self.unknown(name))?;
        let model = entry.model().map_err(|error| {
            tracing::error!(model = name, %error, "failed to connect a model");
            let text = format!("the model `{name}` cannot be asked: {error}");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text).coded("model_not_ready")
        })?;
        let agent = Agent::new(model, executor.clone(), self.config.clone());
        Ok(match &entry.tools {
            Some(tools) => agent.offering(tools.clone()),
            None => agent,
        })
    }

    /// The answer to who asks for a model that is not there.
    pub(super) fn unknown(&self, name: &str) -> Failure {
        let known: Vec<_> = self.names().map(String::as_str).collect();
        let known = match known.is_empty() {
            true => "the config has no [models.*]".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let text = format!("The model `{name}` does not exist; {known}");
        Failure { param: Some("model".to_owned()), ..Failure::not_found(text) }
            .coded("model_not_found")
    }
}

impl Entry {
    /// What failed to connect is tried again the next time: the key may be there by then.
    fn model(&self) -> Result<Arc<dyn Model>, BoxError> {
        if let Some(model) = self.model.get() {
            return Ok(model.clone());
        }
        let model = (self.connect)()?;
        Ok(self.model.get_or_init(|| model).clone())
    }
}
