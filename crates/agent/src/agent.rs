//! A model, the tools it may call, and how far it may go.

use std::{borrow::Cow, sync::Arc, time::Duration};

use switchboard_models::{Model, ModelCall, ModelError, Price, StopReason, ToolChoice, Usage};
use switchboard_runtime::{RegisteredTool, SpanOperation, ToolExecutor};
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolPatterns, ToolSpec, Visibility};

use crate::{
    AgentEvent, AgentEvents, AnswerSchema, Config, Conversation, RunRecording, ShortenedResult,
    SummarisedMessages, UnfinishedRun,
    fit::ConversationEdit,
    run::AgentRun,
    runs::{LiveRun, RecordedRun, RecordedTurn},
    trace::ModelSpan,
};

/// Asks a model, runs its calls and asks again. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) executor: ToolExecutor,
    pub(crate) config: Arc<Config>,
    pub(crate) options: RequestOptions,
    /// Tools that the caller runs itself.
    pub(crate) foreign: Arc<[ToolSpec]>,
    offers: Vec<ToolNameFilter>,
    /// What its caller sees of the tools.
    pub(crate) visibility: Visibility,
    /// Where its runs are written down, if they are.
    pub(crate) recording: Option<Arc<RunRecording>>,
    /// The model that summarises what no longer fits, if it is another one.
    pub(crate) summariser: Option<Arc<dyn Model>>,
}

/// Whether a tool is on offer.
type ToolNameFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Options of one run; for unset ones, the config applies.
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    /// The most tokens of each turn.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Whether it may, or has to, call something. What it has to call it has to call first; after that it may answer.
    pub choice: ToolChoice,
    /// Whether text is only sent with the complete turn. If a turn fails in the middle, no part of it was sent then, so it can
    /// be repeated.
    pub whole_turns: bool,
    /// What the answer has to fit. It is asked for once more if it does not. None of it is shown before it is known to fit.
    pub answer: Option<AnswerSchema>,
}

/// The outcome of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentOutcome {
    /// The model's answer, if it gave one.
    pub answer: Option<String>,
    /// Why the loop stopped.
    pub stop: StopCause,
    /// Why the last complete turn ended: an answer can be cut, or a refusal.
    pub reason: Option<StopReason>,
    /// The calls that are left to the caller, in the model's order. Until they are answered, by
    /// [`Conversation::reply`], the conversation says that they are not.
    pub foreign_calls: Vec<ModelCall>,
    /// What each turn cost (ML-7).
    pub turns: Vec<Usage>,
    /// What all turns cost, summaries included.
    pub usage: Usage,
    /// The same in money, if the model has a price.
    pub cost: Option<f64>,
    /// The results of tools of which the conversation has only a line (RN-3).
    pub shortened: Vec<ShortenedResult>,
    /// The messages of which the conversation has only a summary.
    pub summarised: Vec<SummarisedMessages>,
    /// What is wrong with the answer, if it does not fit its schema.
    pub invalid_answer: Option<String>,
    /// The model's error, if it failed.
    pub error: Option<ModelError>,
    /// The run's id in the records, if it was recorded (RN-1).
    pub run_id: Option<CallId>,
}

/// What a run did before it was interrupted.
#[derive(Default)]
struct RunBefore {
    turns: Vec<RecordedTurn>,
    edits: Vec<ConversationEdit>,
    spent: Duration,
}

impl AgentOutcome {
    /// Returns the stable code of the error, if there was one.
    fn failure(&self) -> Option<&'static str> {
        match (self.stop, &self.error) {
            (StopCause::Cancelled, _) => Some(ErrorKind::Cancelled.code()),
            (StopCause::InvalidAnswer, _) => Some("invalid_answer"),
            (_, Some(error)) => Some(error.kind.code()),
            _ => None,
        }
    }
}

/// Why the loop stopped (ML-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The model said something without calling anything.
    Answer,
    /// The model was asked as often as it may be; the last time without tools.
    MaxIterations,
    /// The tokens or the time were spent.
    Budget,
    /// The money was spent.
    CostBudget,
    /// The answer did not fit its schema, twice.
    InvalidAnswer,
    /// The caller cancelled.
    Cancelled,
    /// The model made the same call again and again.
    Repeats,
    /// The model called tools that the caller runs itself.
    Foreign,
    /// The model could not be asked.
    ModelFailed,
}

impl StopCause {
    /// Returns why there is no answer, unless the model is the cause; `invalid` says what is wrong with the answer.
    pub(crate) fn failure(self, invalid: Option<&str>) -> Option<String> {
        let text = match self {
            Self::Answer | Self::Cancelled | Self::Foreign | Self::ModelFailed => return None,
            Self::MaxIterations => "the model went on calling tools when it was to answer",
            Self::Budget => "the tokens or the time were spent first",
            Self::CostBudget => "the cost budget was spent first",
            Self::Repeats => "the model made the same call again and again",
            Self::InvalidAnswer => {
                let problems = invalid.unwrap_or_default();
                return Some(format!("the answer does not fit its schema: {problems}"));
            }
        };
        Some(text.to_owned())
    }
}

impl Agent {
    /// An agent that offers every tool of the executor.
    pub fn new(model: Arc<dyn Model>, executor: ToolExecutor, config: Config) -> Self {
        let (options, foreign) = (RequestOptions::default(), Arc::default());
        let (config, offers, visibility) = (Arc::new(config), Vec::new(), Visibility::default());
        let (recording, summariser) = (None, None);
        Self {
            model,
            executor,
            config,
            options,
            foreign,
            offers,
            visibility,
            recording,
            summariser,
        }
    }

    /// The same agent, with only those tools that `tools` matches; calls of others find nothing (ML-9).
    #[must_use]
    pub fn offering(self, tools: ToolPatterns) -> Self {
        self.offering_where(move |name| tools.matches(name))
    }

    /// The same agent, with only those of its tools for which `is_offered` holds too.
    #[must_use]
    pub fn offering_where(
        mut self,
        is_offered: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.offers.push(Arc::new(is_offered));
        self
    }

    /// The same agent, for a caller who sees the tools like this; it also holds for runs whose context says nothing of it.
    #[must_use]
    pub fn seeing(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// The same agent, with tools that the caller runs itself: the model is shown them too, and a turn that calls one
    /// ends the run once our own calls of that turn are done. Where both have a name, it is the caller's.
    #[must_use]
    pub fn with_foreign_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.foreign = tools.into();
        self
    }

    /// The same agent, with options for its requests.
    #[must_use]
    pub fn with_options(mut self, options: RequestOptions) -> Self {
        self.options = options;
        self
    }

    /// The same agent, whose runs are written down, so that they can be resumed (RN-1).
    #[must_use]
    pub fn with_recording(mut self, recording: RunRecording) -> Self {
        self.recording = Some(Arc::new(recording));
        self
    }

    /// The same agent, with another model for summaries of what no longer fits.
    #[must_use]
    pub fn with_summariser(mut self, model: Arc<dyn Model>) -> Self {
        self.summariser = Some(model);
        self
    }

    /// The same agent, whose runs may cost no more than this, or what its settings say if that is less.
    #[must_use]
    pub fn limited_to_cost(mut self, most: f64) -> Self {
        let config = Arc::make_mut(&mut self.config);
        config.cost_budget = Some(config.cost_budget.map_or(most, |own| own.min(most)));
        self
    }

    /// Returns what the tokens of its model cost, if the settings say so.
    pub fn price(&self) -> Option<Price> {
        self.model.price()
    }

    /// Whether its runs are written down.
    pub fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// The same agent, whose runs are turns of this chat.
    #[must_use]
    pub fn in_chat(self, id: &str) -> Self {
        self.recorded_with(|recording| recording.chat = Some(id.to_owned()))
    }

    /// The same agent, with more in the records of its runs, if they are recorded.
    #[must_use]
    pub fn recorded_with(mut self, change: impl FnOnce(&mut RunRecording)) -> Self {
        if let Some(recording) = &mut self.recording {
            change(Arc::make_mut(recording));
        }
        self
    }

    /// Returns where its runs are written down, if they are.
    pub fn recording(&self) -> Option<&RunRecording> {
        self.recording.as_deref()
    }

    /// Answers the last user message. The context has the caller, cancels, and limits each call's time.
    ///
    /// # Cancel safety
    /// To cancel `cx.cancel` is better, as calls then say what became of them. Dropping the future leaves a valid
    /// conversation too: calls that had ended keep their results.
    pub async fn run(
        &self,
        conversation: &mut Conversation,
        events: &AgentEvents,
        cx: &CallContext,
    ) -> AgentOutcome {
        let traced = ModelSpan::begin(self, cx.trace.as_ref());
        let mut cx = CallContext { trace: traced.place(), ..self.in_profile(cx) };
        let recording = self.recording.as_ref();
        let id = recording.and_then(|recording| recording.id).unwrap_or_else(CallId::generate);
        // The calls of a run belong together, in the records too.
        cx.conversation.get_or_insert_with(|| id.to_string().into());
        let live = self.begin_recording(id, conversation, events, &cx).await;
        let outcome = self.finish(live, Default::default(), conversation, events, &cx).await;
        traced.end(SpanOperation::Run, outcome.usage, outcome.failure(), &cx);
        outcome
    }

    /// Goes on with an interrupted run (RN-2). Returns the conversation with the outcome.
    pub async fn resume(
        &self,
        run: UnfinishedRun,
        events: &AgentEvents,
        cx: &CallContext,
    ) -> (Conversation, AgentOutcome) {
        let UnfinishedRun { recorded, live } = run;
        let spent = recorded.spent();
        let RecordedRun { start, turns, edits, .. } = recorded;
        live.go_on(switchboard_toolcall::time::unix_milliseconds());
        let traced = ModelSpan::begin(self, cx.trace.as_ref());
        let mut cx = CallContext { trace: traced.place(), ..self.in_profile(cx) };
        cx.conversation = Some(live.id.to_string().into());
        self.model.skip_turns(start.skip + turns.len());
        let mut conversation = Conversation::from(start.messages);
        let live = Some(live);
        let recorded = RunBefore { turns, edits, spent };
        let outcome = self.finish(live, recorded, &mut conversation, events, &cx).await;
        traced.end(SpanOperation::Run, outcome.usage, outcome.failure(), &cx);
        (conversation, outcome)
    }

    async fn finish(
        &self,
        live: Option<LiveRun>,
        before: RunBefore,
        conversation: &mut Conversation,
        events: &AgentEvents,
        cx: &CallContext,
    ) -> AgentOutcome {
        let agent = self.clone().seeing(cx.visibility.clone());
        let mut run = AgentRun::new(&agent, events, cx);
        run.live = live.map(Arc::new);
        run.already_took(before.spent);
        let mut outcome = run.finish(conversation, before.turns, before.edits).await;
        outcome.run_id = run.live.as_ref().map(|live| live.id);
        run.end_recording(&outcome).await;
        outcome
    }

    /// Returns the context with what the agent's caller sees, unless the context says it, and with its profile.
    fn in_profile(&self, cx: &CallContext) -> CallContext {
        let mut cx = cx.clone();
        match self.visibility.profile() {
            _ if !cx.visibility.hides_tools() => {
                let watches = cx.visibility.watches();
                cx.visibility = self.visibility.clone().watching(watches);
            }
            Some(profile) if cx.visibility.profile().is_none() => {
                cx.visibility = cx.visibility.within(profile.clone());
            }
            _ => {}
        }
        cx
    }

    /// Begins to write a run down; if that fails, warns and lets it run.
    async fn begin_recording(
        &self,
        id: CallId,
        conversation: &Conversation,
        events: &AgentEvents,
        cx: &CallContext,
    ) -> Option<LiveRun> {
        let recording = self.recording.as_ref()?;
        let begun = recording.begin(id, self, conversation, cx).await;
        begun
            .inspect_err(|cause| {
                let text = format!("this run is not recorded and cannot be resumed: {cause}");
                events(AgentEvent::Warning(text));
            })
            .ok()
    }

    /// Whether one of our tools is on offer under this name.
    pub fn offers_tool(&self, name: &str) -> bool {
        self.offered().iter().any(|tool| **tool.name() == *name)
    }

    /// Whether the model is offered any tool, ours or the caller's.
    pub fn offers_tools(&self) -> bool {
        !self.foreign.is_empty() || !self.offered().is_empty()
    }

    /// Returns the tools that its caller sees, in order.
    pub(crate) fn listed(&self) -> Vec<Arc<RegisteredTool>> {
        self.executor.tools().listed_for(&self.visibility)
    }

    /// Returns the tool that its caller calls by this name.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        self.executor.tools().get_for(name, &self.visibility)
    }

    /// The tools on offer, in the executor's order (ML-6).
    pub(crate) fn offered(&self) -> Vec<Arc<RegisteredTool>> {
        let mut tools = self.listed();
        tools.retain(|tool| self.offers(tool.name()) && !self.is_foreign(tool.name()));
        tools
    }

    /// Whether the model may call what this name finds.
    pub(crate) fn may_call(&self, name: &str) -> bool {
        if self.offers.is_empty() {
            return true;
        }
        match self.tool(name) {
            Some(tool) => self.offers(tool.name()),
            // It may be the tool of a server that still connects.
            None => self.offers(name),
        }
    }

    /// Returns whether no tool of the executor is left out.
    pub(crate) fn offers_all(&self) -> bool {
        self.offers.is_empty()
    }

    /// Returns whether the tool that is shown as `name` is among those that may be offered.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.offers.iter().all(|is_offered| is_offered(name))
    }

    /// Returns whether the caller runs the tool with this name.
    pub(crate) fn is_foreign(&self, name: &str) -> bool {
        self.foreign.iter().any(|tool| tool.name == name)
    }
}

/// The tool's spec under the name by which it is shown.
pub(crate) fn shown_spec(tool: &RegisteredTool) -> Cow<'_, ToolSpec> {
    let spec = tool.spec();
    if spec.name == **tool.name() {
        return Cow::Borrowed(spec);
    }
    Cow::Owned(ToolSpec { name: tool.name().to_string(), ..spec.clone() })
}
