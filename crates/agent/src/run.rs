//! One run of the loop.

use std::{
    borrow::Cow,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use switchboard_models::{
    AiMessage, FailureKind, Message, ModelError, Request, StopReason, ToolChoice, Turn, Usage,
};
use switchboard_runtime::{RegisteredTool, SpanOperation, validate::SchemaCheck};
use switchboard_toolcall::{CallContext, CancellationToken, ErrorKind, ToolSpec};
use tokio::time::{Instant, sleep_until};

use crate::{
    Agent, AgentEvent, AgentEvents, AgentOutcome, Conversation, StopCause,
    agent::shown_spec,
    offered_tools::SearchOffer,
    plan::{self, NotRunReason},
    repeats::Repeats,
    runs::{LiveRun, RecordedTurn},
    trace::ModelSpan,
};

/// A run: its inputs and its state.
pub(crate) struct AgentRun<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) events: &'a AgentEvents,
    pub(crate) cx: &'a CallContext,
    /// Ends the calls that run: with the caller's token, or when the time is spent.
    pub(crate) stop: CancellationToken,
    pub(crate) repeats: Repeats,
    /// What is offered if the model searches for tools; `None` if all are offered.
    pub(crate) search: Option<SearchOffer>,
    /// The file that it is written to, if it is recorded.
    pub(crate) live: Option<Arc<LiveRun>>,
    deadline: Option<Instant>,
    pub(crate) turns: Vec<Usage>,
    reason: Option<StopReason>,
}

impl<'a> AgentRun<'a> {
    pub(crate) fn new(agent: &'a Agent, events: &'a AgentEvents, cx: &'a CallContext) -> Self {
        Self {
            agent,
            events,
            cx,
            stop: cx.cancel.child_token(),
            repeats: Repeats::default(),
            search: None,
            live: None,
            deadline: agent
                .config
                .time_budget
                .and_then(|budget| Instant::now().checked_add(budget.0)),
            turns: Vec::new(),
            reason: None,
        }
    }

    /// Asks and runs calls until there is a reason to stop.
    /// `recorded` has the turns of a run that is resumed: nothing of them is asked or run again, unless it had not ended.
    pub(crate) async fn finish(
        &mut self,
        conversation: &mut Conversation,
        recorded: Vec<RecordedTurn>,
    ) -> AgentOutcome {
        let most = self.agent.config.max_iterations.get();
        self.search = SearchOffer::decide(self.agent).await;
        for recorded in recorded {
            let last = self.next_is_last(most);
            if let Some(outcome) = self.restore(recorded, last, conversation).await {
                return outcome;
            }
        }
        if !conversation.awaits_model() {
            let error = ModelError::new(FailureKind::Config, "there is nothing to answer");
            return self.failed(error);
        }
        loop {
            let last = self.next_is_last(most);
            if let Some(stopped) = self.is_over() {
                return self.stopped(stopped);
            }
            let said = Mutex::new(String::new());
            let turn = match self.ask(conversation.messages(), last, &said).await {
                Some(Ok(turn)) => turn,
                Some(Err(error)) => return self.failed(error),
                None => {
                    keep_partial(conversation, said);
                    return self.stopped(self.is_over().unwrap_or(StopCause::Budget));
                }
            };
            self.account(&turn);
            self.record_turn(&turn);
            if turn.message.tool_calls.is_empty() {
                let answer = turn.message.content.clone();
                conversation.append(turn.message);
                return self.answered(answer, last);
            }
            if let Some(outcome) = self.take_calls(turn, last, conversation, None).await {
                return outcome;
            }
        }
    }

    /// Whether the next turn is asked without tools.
    fn next_is_last(&self, most: u32) -> bool {
        self.turns.len() + 1 >= most as usize
    }

    /// Repeats what is recorded of a turn: calls that ended keep their results.
    async fn restore(
        &mut self,
        mut recorded: RecordedTurn,
        last: bool,
        conversation: &mut Conversation,
    ) -> Option<AgentOutcome> {
        let message = std::mem::take(&mut recorded.message);
        let turn = Turn { message, stop: recorded.stop.clone(), usage: recorded.usage };
        self.turns.push(turn.usage);
        self.reason = Some(turn.stop.clone());
        if turn.message.tool_calls.is_empty() {
            let answer = turn.message.content.clone();
            conversation.append(turn.message);
            return Some(self.answered(answer, last));
        }
        self.take_calls(turn, last, conversation, Some(&recorded)).await
    }

    fn answered(&self, answer: String, last: bool) -> AgentOutcome {
        let stopped = if last { StopCause::MaxIterations } else { StopCause::Answer };
        AgentOutcome { answer: Some(answer), ..self.stopped(stopped) }
    }

    /// Requests one turn. Returns `None` if the run ends before it is complete. `said` has the text that was shown.
    async fn ask(
        &self,
        messages: &[Message],
        last: bool,
        said: &Mutex<String>,
    ) -> Option<Result<Turn, ModelError>> {
        let tools = self.offered(messages);
        let specs = self.specs(&tools);
        let validate = |name: &str, args: &Value| {
            if let Some(spec) = self.agent.foreign.iter().find(|spec| spec.name == name) {
                let check = SchemaCheck::compile(&spec.parameters, spec.settings.strictness);
                return check.is_ok_and(|check| check.may_accept(args));
            }
            let tool = tools.iter().find(|tool| **tool.name() == *name).cloned();
            // A model that searches may call what it has not found.
            let known = || self.search.as_ref().and_then(|_| self.agent.tool(name));
            let tool = tool.or_else(known);
            args.as_object().is_some_and(|args| tool.is_some_and(|tool| tool.may_accept(args)))
        };
        let mut request = Request::new(messages)
            .with_tools(specs.iter().map(AsRef::as_ref))
            .with_validation(&validate);
        request.stream = self.agent.config.stream;
        request.whole_turns = self.agent.options.whole_turns;
        request.choice = self.choice(last);
        request.fixed_tools = self.search.as_ref().map(|search| search.fixed(self.agent));
        request.max_tokens = self.agent.options.max_tokens;
        request.temperature = self.agent.options.temperature;
        let tell = |event| {
            if let switchboard_models::ModelEvent::Text(text) = &event {
                said.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            }
            if let Some(event) = AgentEvent::of_model(event) {
                (self.events)(event);
            }
        };
        let traced = ModelSpan::begin(self.agent, self.cx.trace.as_ref());
        let turn = pin!(self.agent.model.ask(&request, &tell));
        let turn = tokio::select! {
            biased;
            turn = turn => Some(turn),
            () = self.over() => None,
        };
        let (usage, failure) = match &turn {
            Some(Ok(turn)) => (turn.usage, None),
            Some(Err(error)) => (Usage::default(), Some(error.kind.code())),
            None => (Usage::default(), Some(ErrorKind::Cancelled.code())),
        };
        traced.end(SpanOperation::Turn, usage, failure, self.cx);
        turn
    }

    /// Returns our tools for the next turn: all, or those that were found.
    fn offered(&self, messages: &[Message]) -> Vec<Arc<RegisteredTool>> {
        match &self.search {
            Some(search) => search.found(self.agent, messages),
            None => self.agent.offered(),
        }
    }

    /// Returns the definitions for the next turn, in order.
    fn specs<'t>(&'t self, tools: &'t [Arc<RegisteredTool>]) -> Vec<Cow<'t, ToolSpec>> {
        match &self.search {
            Some(search) => search.specs(self.agent, tools),
            None => {
                let ours = tools.iter().map(|tool| shown_spec(tool));
                ours.chain(self.agent.foreign.iter().map(Cow::Borrowed)).collect()
            }
        }
    }

    /// Returns whether the model may call what this name finds.
    pub(crate) fn may_call(&self, name: &str) -> bool {
        let is_shared = self.search.is_some() && SearchOffer::is_shared(name);
        is_shared || self.agent.may_call(name)
    }

    /// The caller's choice holds for the first turn, or the model could never answer; the last is without tools.
    fn choice(&self, last: bool) -> ToolChoice {
        match &self.agent.options.choice {
            _ if last => ToolChoice::Never,
            ToolChoice::Never => ToolChoice::Never,
            choice if self.turns.is_empty() => choice.clone(),
            _ => ToolChoice::Auto,
        }
    }

    fn account(&mut self, turn: &Turn) {
        self.turns.push(turn.usage);
        self.reason = Some(turn.stop.clone());
        (self.events)(AgentEvent::Turn { usage: turn.usage, total: self.total() });
    }

    /// What all turns cost. Providers can claim any number.
    fn total(&self) -> Usage {
        self.turns.iter().fold(Usage::default(), |total, turn| Usage {
            input_tokens: total.input_tokens.saturating_add(turn.input_tokens),
            output_tokens: total.output_tokens.saturating_add(turn.output_tokens),
        })
    }

    /// Replies to every call of a turn, or leaves it to the caller, and says whether to stop after that.
    async fn take_calls(
        &mut self,
        turn: Turn,
        last: bool,
        conversation: &mut Conversation,
        recorded: Option<&RecordedTurn>,
    ) -> Option<AgentOutcome> {
        let held = self.held(&turn.stop, last);
        let mut slots = conversation.append(turn.message);
        let plan = plan::calls(self, slots.calls(), held.as_ref());
        for position in &plan.foreign {
            slots.leave(*position);
        }
        let steps = match recorded {
            Some(recorded) => self.left_of(plan.steps, recorded, &mut slots),
            None => plan.steps,
        };
        self.run_calls(steps, &mut slots).await;
        let repeats = plan.repeats.then_some(StopCause::Repeats);
        let stopped = held.and_then(|held| held.stops()).or(self.is_over());
        if plan.foreign.is_empty() || stopped.is_some() {
            return stopped.or(repeats).map(|stopped| self.stopped(stopped));
        }
        let calls = slots.calls();
        let foreign_calls = plan.foreign.iter().map(|position| calls[*position].clone()).collect();
        Some(AgentOutcome { foreign_calls, ..self.stopped(StopCause::Foreign) })
    }

    /// Why no call of this turn is run, if so.
    fn held(&self, stop: &StopReason, last: bool) -> Option<NotRunReason> {
        let Usage { input_tokens, output_tokens } = self.total();
        let spent = input_tokens.saturating_add(output_tokens);
        match (stop, self.agent.config.token_budget) {
            (StopReason::Refusal, _) => Some(NotRunReason::Refused),
            (StopReason::ContextFull, _) => Some(NotRunReason::ContextFull),
            _ if last => Some(NotRunReason::LastTurn),
            (_, Some(budget)) if spent >= budget => {
                Some(NotRunReason::TokensSpent { spent, budget })
            }
            (StopReason::MaxTokens, _) => Some(NotRunReason::Cut),
            _ => None,
        }
    }

    /// Waits until the caller cancels or the time is spent.
    pub(crate) async fn over(&self) {
        let spent = async {
            match self.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.cx.cancel.cancelled() => {}
            () = spent => {}
        }
    }

    /// Why the run must end now, if it must.
    pub(crate) fn is_over(&self) -> Option<StopCause> {
        if self.cx.cancel.is_cancelled() {
            return Some(StopCause::Cancelled);
        }
        let spent = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        spent.then_some(StopCause::Budget)
    }

    fn stopped(&self, stop: StopCause) -> AgentOutcome {
        let (reason, turns, usage) = (self.reason.clone(), self.turns.clone(), self.total());
        let foreign_calls = Vec::new();
        let (answer, error, run_id) = (None, None, None);
        AgentOutcome { answer, stop, reason, foreign_calls, turns, usage, error, run_id }
    }

    fn failed(&self, error: ModelError) -> AgentOutcome {
        AgentOutcome { error: Some(error), ..self.stopped(StopCause::ModelFailed) }
    }
}

/// Keeps what the user has read of a turn that was stopped, so that both remember the same. Every provider takes a message
/// of plain text before the user's next one; a call that had begun is not in it, nor are thoughts without their signature.
fn keep_partial(conversation: &mut Conversation, said: Mutex<String>) {
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !said.trim().is_empty() {
        conversation.append(AiMessage::text(said));
    }
}
