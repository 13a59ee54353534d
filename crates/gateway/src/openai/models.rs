//! The models that chat clients may use, by name.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use http::StatusCode;
use indexmap::IndexMap;
use switchboard_agent::{Agent, Config, RunRecording, RunStore};
use switchboard_models::Model;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{BoxError, ToolPatterns};

use super::{budget::KnownCosts, failure::ChatFailure, keyed::KeyedRuns, transcripts::Transcripts};

/// Creates a model's client.
pub(crate) type Connect = Box<dyn Fn() -> Result<Arc<dyn Model>, BoxError> + Send + Sync>;

/// The models that chat clients may use, in order, and the settings of the agent's loop. Cheap to clone.
#[derive(Clone, Default)]
pub struct Models {
    known: Arc<ArcSwap<ModelTable>>,
    pub(super) transcripts: Arc<Transcripts>,
    /// The runs of requests that clients may repeat.
    pub(super) keyed: Arc<KeyedRuns>,
    /// What runs cost, for callers with a budget.
    pub(super) costs: KnownCosts,
}

/// The models, which can be replaced while chats run.
#[derive(Clone, Default)]
struct ModelTable {
    entries: IndexMap<String, Arc<ModelEntry>>,
    /// Models that are skipped, with the reason.
    skipped: HashMap<String, String>,
    config: Config,
    /// How runs are recorded, if they are.
    recording: Option<RunRecording>,
    /// What summarises conversations that no longer fit, if it is another model than the one that answers.
    summariser: Option<Arc<dyn Model>>,
}

struct ModelEntry {
    tools: Option<ToolPatterns>,
    connect: Connect,
    model: OnceLock<Arc<dyn Model>>,
}

impl Models {
    /// Creates an empty list of models, with the settings of the loop.
    pub fn new(config: Config) -> Self {
        let known = ModelTable { config, ..ModelTable::default() };
        Self { known: Arc::new(ArcSwap::from_pointee(known)), ..Self::default() }
    }

    /// Adds a model that is connected at its first use, and is offered the tools that `tools` matches, or all if it is
    /// `None`.
    pub fn add(&mut self, name: impl Into<String>, tools: Option<ToolPatterns>, connect: Connect) {
        let mut known = ModelTable::clone(&self.known.load());
        let entry = ModelEntry { tools, connect, model: OnceLock::new() };
        known.entries.insert(name.into(), Arc::new(entry));
        self.known.store(Arc::new(known));
    }

    /// Sets how runs are recorded, apart from their model.
    pub fn record_runs(&mut self, recording: Option<RunRecording>) {
        self.known
            .store(Arc::new(ModelTable { recording, ..ModelTable::clone(&self.known.load()) }));
    }

    /// Sets the model that summarises conversations that no longer fit.
    pub fn summarise_with(&mut self, summariser: Option<Arc<dyn Model>>) {
        self.known
            .store(Arc::new(ModelTable { summariser, ..ModelTable::clone(&self.known.load()) }));
    }

    /// Returns the runs, if they are recorded.
    pub(crate) fn runs(&self) -> Option<RunStore> {
        self.known.load().recording.as_ref().map(|recording| recording.store.clone())
    }

    /// Adds a model that cannot be used because something that its settings need is missing. It is not listed, and requests
    /// for it fail with `text`.
    pub fn skip(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let mut known = ModelTable::clone(&self.known.load());
        known.skipped.insert(name.into(), text.into());
        self.known.store(Arc::new(known));
    }

    /// Replaces the models; running chats keep theirs.
    pub fn replace(&self, models: &Self) {
        self.known.store(models.known.load_full());
    }

    /// Returns their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.known.load().entries.keys().cloned().collect()
    }

    /// Returns the settings of the loop.
    pub(super) fn config(&self) -> Config {
        self.known.load().config.clone()
    }

    /// Returns the client of the model with this name.
    ///
    /// # Errors
    /// Fails if there is no model with this name, or it cannot be connected.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, BoxError> {
        match self.known.load().entries.get(name) {
            Some(entry) => entry.model(),
            None => Err(format!("there is no model `{name}`").into()),
        }
    }

    /// Creates the agent for a model.
    pub(super) fn agent(&self, name: &str, executor: &ToolExecutor) -> Result<Agent, ChatFailure> {
        let known = self.known.load();
        let entry = known.entries.get(name).ok_or_else(|| self.unknown(name))?;
        let model = entry.model().map_err(|error| {
            tracing::error!(model = name, %error, "failed to connect a model");
            let text = format!("the model `{name}` cannot be asked: {error}");
            ChatFailure::new(StatusCode::INTERNAL_SERVER_ERROR, text).coded("model_not_ready")
        })?;
        let mut agent = Agent::new(model, executor.clone(), known.config.clone());
        if let Some(recording) = &known.recording {
            let model = name.to_owned();
            agent = agent.with_recording(RunRecording { model, ..recording.clone() });
        }
        if let Some(summariser) = &known.summariser {
            agent = agent.with_summariser(summariser.clone());
        }
        Ok(match &entry.tools {
            Some(tools) => agent.offering(tools.clone()),
            None => agent,
        })
    }

    /// Returns the error for an unknown or skipped model.
    pub(super) fn unknown(&self, name: &str) -> ChatFailure {
        if let Some(text) = self.known.load().skipped.get(name) {
            return ChatFailure::new(StatusCode::SERVICE_UNAVAILABLE, text)
                .coded("model_not_ready");
        }
        let known = self.names();
        let known = match known.is_empty() {
            true => "the config has no [models.*]".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let text = format!("The model `{name}` does not exist; {known}");
        ChatFailure { param: Some("model".to_owned()), ..ChatFailure::not_found(text) }
            .coded("model_not_found")
    }
}

impl ModelEntry {
    /// Returns the client; connects first if that has not succeeded yet. A failure is not cached: the key may be set later.
    fn model(&self) -> Result<Arc<dyn Model>, BoxError> {
        if let Some(model) = self.model.get() {
            return Ok(model.clone());
        }
        let model = (self.connect)()?;
        Ok(self.model.get_or_init(|| model).clone())
    }
}
