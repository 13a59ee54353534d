//! The models that chat clients may ask, by name.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use http::StatusCode;
use indexmap::IndexMap;
use switchboard_agent::{Agent, Config};
use switchboard_models::Model;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{BoxError, ToolPatterns};

use super::{failure::Failure, transcripts::Transcripts};

/// Makes a model's client.
pub type Connect = Box<dyn Fn() -> Result<Arc<dyn Model>, BoxError> + Send + Sync>;

/// The models that chat clients may ask, in order, and how the loop around them goes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Models {
    known: Arc<ArcSwap<ModelTable>>,
    pub(super) transcripts: Arc<Transcripts>,
}

/// What can be put in the place of something else while chats go on.
#[derive(Clone, Default)]
struct ModelTable {
    entries: IndexMap<String, Arc<ModelEntry>>,
    /// Models that cannot be asked, with what is said to who asks for one.
    skipped: HashMap<String, String>,
    config: Config,
}

struct ModelEntry {
    tools: Option<ToolPatterns>,
    connect: Connect,
    model: OnceLock<Arc<dyn Model>>,
}

impl Models {
    /// No models yet, and the settings of the loop around them.
    pub fn new(config: Config) -> Self {
        let known = ModelTable { config, ..ModelTable::default() };
        Self { known: Arc::new(ArcSwap::from_pointee(known)), ..Self::default() }
    }

    /// Adds a model that is connected when somebody first asks it, and is offered the tools that `tools` matches,
    /// or all.
    pub fn add(&mut self, name: impl Into<String>, tools: Option<ToolPatterns>, connect: Connect) {
        let mut known = ModelTable::clone(&self.known.load());
        let entry = ModelEntry { tools, connect, model: OnceLock::new() };
        known.entries.insert(name.into(), Arc::new(entry));
        self.known.store(Arc::new(known));
    }

    /// Names a model that cannot be asked because something that its settings need is missing. It is not listed, and who
    /// asks for it is answered with `text`.
    pub fn skip(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let mut known = ModelTable::clone(&self.known.load());
        known.skipped.insert(name.into(), text.into());
        self.known.store(Arc::new(known));
    }

    /// Puts these models in the place of those that there are; chats under way go on with theirs.
    pub fn replace(&self, models: &Self) {
        self.known.store(models.known.load_full());
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.known.load().entries.keys().cloned().collect()
    }

    /// The settings of the loop.
    pub(super) fn config(&self) -> Config {
        self.known.load().config.clone()
    }

    /// The model of this name.
    ///
    /// # Errors
    /// There is none, or it cannot be connected.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, BoxError> {
        match self.known.load().entries.get(name) {
            Some(entry) => entry.model(),
            None => Err(format!("there is no model `{name}`").into()),
        }
    }

    /// The loop around a model.
    pub(super) fn agent(&self, name: &str, executor: &ToolExecutor) -> Result<Agent, Failure> {
        let known = self.known.load();
        let entry = known.entries.get(name).ok_or_else(|| self.unknown(name))?;
        let model = entry.model().map_err(|error| {
            tracing::error!(model = name, %error, "failed to connect a model");
            let text = format!("the model `{name}` cannot be asked: {error}");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text).coded("model_not_ready")
        })?;
        let agent = Agent::new(model, executor.clone(), known.config.clone());
        Ok(match &entry.tools {
            Some(tools) => agent.offering(tools.clone()),
            None => agent,
        })
    }

    /// The answer to who asks for a model that is not there, or is skipped.
    pub(super) fn unknown(&self, name: &str) -> Failure {
        if let Some(text) = self.known.load().skipped.get(name) {
            return Failure::new(StatusCode::SERVICE_UNAVAILABLE, text).coded("model_not_ready");
        }
        let known = self.names();
        let known = match known.is_empty() {
            true => "the config has no [models.*]".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let text = format!("The model `{name}` does not exist; {known}");
        Failure { param: Some("model".to_owned()), ..Failure::not_found(text) }
            .coded("model_not_found")
    }
}

impl ModelEntry {
    /// What failed to connect is tried again the next time: the key may be there by then.
    fn model(&self) -> Result<Arc<dyn Model>, BoxError> {
        if let Some(model) = self.model.get() {
            return Ok(model.clone());
        }
        let model = (self.connect)()?;
        Ok(self.model.get_or_init(|| model).clone())
    }
}
