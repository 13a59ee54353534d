//! One run of the loop.

use std::{sync::Arc, time::Duration};

use switchboard_models::{FailureKind, ModelError, StopReason, Turn, Usage};
use switchboard_toolcall::{CallContext, CancellationToken};
use tokio::time::{Instant, sleep_until};

use crate::{
    Agent, AgentEvent, AgentEvents, AgentOutcome, AnswerSchema, Conversation, StopCause,
    fit::{ContextFit, ConversationEdit},
    offered_tools::SearchOffer,
    partial_turn::PartialTurn,
    plan::{self, NotRunReason},
    repeats::Repeats,
    runs::{LiveRun, RecordedTurn},
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
    /// What it knows of the model's window, and what it shortened.
    pub(crate) fit: ContextFit,
    /// What was wrong with the first answer, if it did not fit its schema.
    invalid_answer: Option<String>,
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
            fit: ContextFit::default(),
            invalid_answer: None,
            deadline: deadline(agent, Duration::ZERO),
            turns: Vec::new(),
            reason: None,
        }
    }

    /// Counts the time that the run took before it was interrupted.
    pub(crate) fn already_took(&mut self, spent: Duration) {
        self.deadline = deadline(self.agent, spent);
    }

    /// Asks and runs calls until there is a reason to stop.
    /// `recorded` has the turns of a run that is resumed: nothing of them is asked or run again, unless it had not ended. `edits`
    /// are the changes of the conversation after the last of them.
    pub(crate) async fn finish(
        &mut self,
        conversation: &mut Conversation,
        recorded: Vec<RecordedTurn>,
        edits: Vec<ConversationEdit>,
    ) -> AgentOutcome {
        self.search = SearchOffer::decide(self.agent).await;
        for recorded in recorded {
            if let Some(outcome) = self.restore(recorded, conversation).await {
                return outcome;
            }
        }
        self.redo(edits, conversation);
        if !conversation.awaits_model() {
            let error = ModelError::new(FailureKind::Config, "there is nothing to answer");
            return self.failed(error);
        }
        self.check_price();
        loop {
            let last = self.next_is_last();
            if let Some(stopped) = self.is_over() {
                return self.stopped(stopped);
            }
            self.fit(conversation).await;
            let partial = PartialTurn::new(self.live.clone());
            let turn = match self.ask(conversation.messages(), last, &partial).await {
                Some(Ok(turn)) => turn,
                Some(Err(error)) if error.kind == FailureKind::ContextFull => {
                    if partial.is_empty() && self.make_room(conversation).await {
                        continue;
                    }
                    return self.failed(error);
                }
                Some(Err(error)) => return self.failed(error),
                None => {
                    partial.keep(conversation);
                    return self.stopped(self.is_over().unwrap_or(StopCause::Budget));
                }
            };
            self.take_provider_edits(conversation).await;
            self.account(&turn);
            partial.complete();
            self.record_turn(&turn);
            if turn.message.tool_calls.is_empty() {
                match self.take_answer(turn, last, conversation) {
                    Some(outcome) => return outcome,
                    None => {
                        self.record_reminder(conversation);
                        continue;
                    }
                }
            }
            if let Some(outcome) = self.take_calls(turn, last, conversation, None).await {
                return outcome;
            }
        }
    }

    /// Whether the next turn is asked without tools.
    fn next_is_last(&self) -> bool {
        let most = self.agent.config.max_iterations.get() as usize;
        self.turns.len() + 1 >= most || self.invalid_answer.is_some()
    }

    /// Repeats what is recorded of a turn: calls that ended keep their results.
    async fn restore(
        &mut self,
        mut recorded: RecordedTurn,
        conversation: &mut Conversation,
    ) -> Option<AgentOutcome> {
        self.redo(std::mem::take(&mut recorded.edits), conversation);
        let last = self.next_is_last();
        let message = std::mem::take(&mut recorded.message);
        let turn = Turn { message, stop: recorded.stop.clone(), usage: recorded.usage };
        self.turns.push(turn.usage);
        self.reason = Some(turn.stop.clone());
        if turn.message.tool_calls.is_empty() {
            let outcome = self.take_answer(turn, last, conversation);
            if outcome.is_none() && recorded.reminder.is_none() {
                self.record_reminder(conversation);
            }
            return outcome;
        }
        self.take_calls(turn, last, conversation, Some(&recorded)).await
    }

    /// Takes a turn without calls. Returns `None` if the answer does not fit its schema, and is asked for once more.
    fn take_answer(
        &mut self,
        turn: Turn,
        last: bool,
        conversation: &mut Conversation,
    ) -> Option<AgentOutcome> {
        let answer = turn.message.content.clone();
        conversation.append(turn.message);
        let Some(schema) = &self.agent.options.answer else {
            return Some(self.answered(answer, last));
        };
        match (schema.read(&answer), self.invalid_answer.is_some()) {
            (Ok(answer), _) => {
                (self.events)(AgentEvent::Text(answer.clone()));
                Some(self.answered(answer, last))
            }
            (Err(problems), false) => {
                tracing::info!(
                    problems,
                    "the answer does not fit its schema; it is asked for again"
                );
                conversation.say(AnswerSchema::reminder(&problems));
                self.invalid_answer = Some(problems);
                None
            }
            (Err(problems), true) => {
                let stopped = self.stopped(StopCause::InvalidAnswer);
                Some(AgentOutcome { invalid_answer: Some(problems), ..stopped })
            }
        }
    }

    fn answered(&self, answer: String, last: bool) -> AgentOutcome {
        let is_retry = self.invalid_answer.is_some();
        let stopped = if last && !is_retry { StopCause::MaxIterations } else { StopCause::Answer };
        AgentOutcome { answer: Some(answer), ..self.stopped(stopped) }
    }

    fn account(&mut self, turn: &Turn) {
        self.turns.push(turn.usage);
        self.fit.correct(turn.usage);
        self.reason = Some(turn.stop.clone());
        (self.events)(AgentEvent::Turn { usage: turn.usage, total: self.total() });
    }

    /// What all turns cost. Providers can claim any number.
    fn total(&self) -> Usage {
        self.turns.iter().fold(self.fit.usage, |total, turn| Usage {
            input_tokens: total.input_tokens.saturating_add(turn.input_tokens),
            output_tokens: total.output_tokens.saturating_add(turn.output_tokens),
        })
    }

    /// The same in money, if the model has a price.
    fn cost(&self) -> Option<f64> {
        let of_turns: Usage = self.turns.iter().copied().sum();
        self.agent.model.price().map(|price| rounded(price.cost(of_turns) + self.fit.cost))
    }

    /// Warns of a budget that nothing can be measured by.
    fn check_price(&self) {
        if self.agent.config.cost_budget.is_some() && self.agent.model.price().is_none() {
            let text = "`[agent] cost_budget` has no effect: the model has no `price`";
            (self.events)(AgentEvent::Warning(text.to_owned()));
        }
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
        let cost = self.cost().zip(self.agent.config.cost_budget);
        match (stop, self.agent.config.token_budget) {
            (StopReason::Refusal, _) => Some(NotRunReason::Refused),
            (StopReason::ContextFull, _) => Some(NotRunReason::ContextFull),
            _ if last => Some(NotRunReason::LastTurn),
            (_, Some(budget)) if spent >= budget => {
                Some(NotRunReason::TokensSpent { spent, budget })
            }
            _ if cost.is_some_and(|(spent, budget)| spent >= budget) => {
                cost.map(|(spent, budget)| NotRunReason::CostSpent { spent, budget })
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
        let shortened = [&self.fit.shortened[..], &self.fit.cleared].concat();
        let summarised = [&self.fit.summarised[..], &self.fit.compacted].concat();
        AgentOutcome {
            answer: None,
            stop,
            reason,
            foreign_calls: Vec::new(),
            turns,
            usage,
            cost: self.cost(),
            shortened,
            summarised,
            invalid_answer: None,
            error: None,
            run_id: None,
        }
    }

    fn failed(&self, error: ModelError) -> AgentOutcome {
        AgentOutcome { error: Some(error), ..self.stopped(StopCause::ModelFailed) }
    }
}

/// Returns when the time of a run is over that took `spent` so far.
fn deadline(agent: &Agent, spent: Duration) -> Option<Instant> {
    let budget = agent.config.time_budget?;
    Instant::now().checked_add(budget.0.saturating_sub(spent))
}

/// Returns a sum of money without the noise of binary fractions.
pub(crate) fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
}
