//! Builds executors.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::{
    approval::{Approver, NoApprover},
    artifacts::{ArtifactStore, MemoryArtifacts},
    call::ToolExecutor,
    config::Config,
    dispatch::Slots,
    policy::{Policy, RulePolicy},
    record::{CallHistory, CallObserver, CallSinks, IdempotencyStore, Recorder, Tracer},
    tools::{ToolManager, ToolWrapper},
};

/// Builds a [`ToolExecutor`]; whatever is not set has its default.
#[derive(Default)]
pub struct ExecutorBuilder {
    config: Config,
    policy: Option<Arc<dyn Policy>>,
    approver: Option<Arc<dyn Approver>>,
    recorder: Option<Arc<dyn Recorder>>,
    history: Option<Arc<dyn CallHistory>>,
    idempotency: Option<Arc<dyn IdempotencyStore>>,
    observers: Vec<Arc<dyn CallObserver>>,
    tracer: Option<Arc<dyn Tracer>>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    wrap: Option<ToolWrapper>,
}

impl ExecutorBuilder {
    /// Uses these settings.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Checks each call with this policy.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Asks this approver about calls that the policy holds.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Records calls there. Without [`history`](Self::history) they cannot be read back.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Records calls, reads them back and stores idempotency keys there.
    #[must_use]
    pub fn store<S>(self, store: Arc<S>) -> Self
    where
        S: Recorder + CallHistory + IdempotencyStore + 'static,
    {
        self.recorder(store.clone()).history(store.clone()).idempotency(store)
    }

    /// Reads recorded calls from there.
    #[must_use]
    pub fn history(mut self, history: Arc<dyn CallHistory>) -> Self {
        self.history = Some(history);
        self
    }

    /// Stores idempotency keys there, so that they survive this process.
    #[must_use]
    pub fn idempotency(mut self, store: Arc<dyn IdempotencyStore>) -> Self {
        self.idempotency = Some(store);
        self
    }

    /// Adds an observer of calls.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Gets the trace contexts of calls there.
    #[must_use]
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Stores whole results and binaries there.
    #[must_use]
    pub fn artifacts(mut self, artifacts: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Calls the tool that `wrap` returns instead of each tool.
    #[must_use]
    pub fn wrap_tools(mut self, wrap: ToolWrapper) -> Self {
        self.wrap = Some(wrap);
        self
    }

    /// Builds the executor, without any tools yet.
    pub fn build(self) -> ToolExecutor {
        let config = self.config;
        let policy = self.policy.unwrap_or_else(|| Arc::new(RulePolicy::default()));
        ToolExecutor {
            tools: Arc::new(ToolManager::new(&config).wrapped(self.wrap).under(policy.clone())),
            policy,
            approver: self.approver.unwrap_or_else(|| Arc::new(NoApprover::default())),
            sinks: Arc::new(CallSinks {
                idempotency: self.idempotency,
                observers: self.observers,
                tracer: self.tracer,
                ..CallSinks::new(self.recorder, self.history)
            }),
            artifacts: self.artifacts.unwrap_or_else(|| Arc::new(MemoryArtifacts::default())),
            slots: Slots::new(config.max_concurrent, config.max_queue),
            flights: Arc::default(),
            config: Arc::new(ArcSwap::from_pointee(config)),
        }
    }
}
