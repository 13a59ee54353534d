//! Tools that behave as badly as tools do.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, CancellationToken, Normalize, Tool, ToolError, ToolOrigin,
    ToolOutput, ToolSpec,
};

type Behaviour = Box<
    dyn Fn(Value, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync,
>;

/// A tool that does what a test wants.
pub struct Fake {
    spec: ToolSpec,
    behaviour: Behaviour,
}

impl Fake {
    /// A tool of any parameters that does `behaviour`.
    pub fn new<F, Fut>(name: &str, behaviour: F) -> Self
    where
        F: Fn(Value, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let behaviour: Behaviour = Box::new(move |args, cx| Box::pin(behaviour(args, cx)));
        Self { spec: ToolSpec::new(name, "A fake", json!({"type": "object"})), behaviour }
    }

    /// Answers with a value.
    pub fn answers(name: &str, value: Value) -> Self {
        Self::outputs(name, ToolOutput::Value(value))
    }

    /// Answers with an output.
    pub fn outputs(name: &str, output: ToolOutput) -> Self {
        Self::new(name, move |_, _| std::future::ready(Ok(output.clone())))
    }

    /// Answers with its arguments.
    pub fn echoes(name: &str) -> Self {
        Self::new(name, |args, _| std::future::ready(Ok(ToolOutput::Value(args))))
    }

    /// Fails with a text.
    pub fn fails(name: &str, text: &'static str) -> Self {
        Self::new(name, move |_, _| std::future::ready(Err(ToolError::failed(text))))
    }

    /// Waits `secs`, then answers `done`; the witness sees what became of it.
    pub fn waits(name: &str, witness: &Witness) -> Self {
        let witness = witness.clone();
        Self::new(name, move |args, cx| {
            let presence = witness.begin(cx.cancel.clone());
            async move {
                let secs = args["secs"].as_f64().unwrap_or(0.0);
                tokio::time::sleep(Duration::from_secs_f64(secs)).await;
                presence.finish();
                Ok(ToolOutput::Value(json!("done")))
            }
        })
    }

    /// The same tool with these parameters.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.spec.parameters = schema;
        self
    }

    /// The same tool, annotated as read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.spec.annotations = Annotations::READ_ONLY;
        self
    }

    /// The same tool as one of a server's.
    #[must_use]
    pub fn of_server(mut self, server: &str) -> Self {
        let tool = self.spec.name.clone();
        self.spec.name = format!("{server}__{tool}");
        self.spec.origin = ToolOrigin::Server { server: server.into(), tool: tool.into() };
        self
    }

    /// The same tool with its argument names fixed in this way.
    #[must_use]
    pub fn normalize(mut self, normalize: Normalize, rename: &[(&str, &str)]) -> Self {
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        self.spec.settings.normalize = normalize;
        self.spec.settings.rename = rename.iter().map(owned).collect::<BTreeMap<_, _>>();
        self
    }

    /// The same tool, changed in any other way that its spec allows.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// The same tool as the manager takes a server's.
    pub fn shared(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.behaviour)(args, cx.clone())
    }
}

/// Sees what becomes of the calls of a tool.
#[derive(Clone, Default)]
pub struct Witness(Arc<Mutex<Vec<&'static str>>>);

impl Witness {
    /// What was seen, in order: `begun`, `finished`, `dropped`, `dropped and told`.
    pub fn seen(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until something was seen.
    pub async fn saw(&self, what: &str) {
        while !self.seen().contains(&what) {
            tokio::task::yield_now().await;
        }
    }

    /// Notes something.
    pub fn note(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Notes that a call has begun; dropping what is returned notes the end.
    pub fn begin(&self, cancel: CancellationToken) -> RunGuard {
        self.note("begun");
        RunGuard { witness: self.clone(), cancel, finished: false }
    }
}

/// A call that a witness watches.
pub struct RunGuard {
    witness: Witness,
    cancel: CancellationToken,
    finished: bool,
}

impl RunGuard {
    /// Notes that the call came to its own end.
    pub fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.witness.note(match (self.finished, self.cancel.is_cancelled()) {
            (true, _) => "finished",
            (false, true) => "dropped and told",
            (false, false) => "dropped",
        });
    }
}
