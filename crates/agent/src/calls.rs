//! Runs the calls of one turn, and fills their slots as they end.

use std::{collections::VecDeque, pin::pin, time::Duration};

use futures_util::stream::{FuturesUnordered, StreamExt};
use switchboard_models::ToolReply;
use switchboard_toolcall::{CallContext, ErrorKind, Progress, ToolCall, ToolError, ToolResult};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    AgentEvent, StopCause,
    conversation::ReplySlots,
    offered_tools::{self, SearchOffer},
    plan::{CallStep, not_run},
    recording::CallReplies,
    run::AgentRun,
};

/// How long a cancelled call may take to report its outcome. The executor reports it at once; only a recorder can take
/// longer.
const GRACE: Duration = Duration::from_secs(2);

/// When what the model said is written if no call has begun, because each waits for something: otherwise it is written with those
/// that begin.
const WRITTEN_AFTER: Duration = Duration::from_millis(10);

/// Steps that run one after another.
type Lane = VecDeque<CallStep>;

impl AgentRun<'_> {
    /// Runs the steps. Every slot is filled when this returns; the slots of calls that ended are filled even if this is
    /// dropped.
    pub(crate) async fn run_calls(&self, steps: Vec<CallStep>, slots: &mut ReplySlots<'_>) {
        let most = self.agent.config.max_parallel.get();
        let mut lanes = self.lanes(steps);
        let mut ready: VecDeque<usize> = (0..lanes.len()).collect();
        let mut running = FuturesUnordered::new();
        let mut over = pin!(self.over());
        let mut given_up = pin!(sleep_until(Instant::now()));
        let mut written = pin!(sleep(WRITTEN_AFTER));
        let (mut ending, mut is_written) = (false, false);
        loop {
            while running.len() < most
                && let Some(lane) = ready.pop_front()
            {
                if let Some(step) = lanes[lane].pop_front() {
                    running.push(async move { (self.perform(step).await, lane) });
                }
            }
            tokio::select! {
                biased;
                ended = running.next() => match ended {
                    Some(((position, reply), lane)) => {
                        slots.fill(position, reply);
                        ready.push_front(lane);
                    }
                    None => break,
                },
                () = &mut written, if !is_written => {
                    is_written = true;
                    self.write_record();
                }
                () = &mut over, if !ending => {
                    ending = true;
                    given_up.as_mut().reset(Instant::now() + GRACE);
                    self.stop.cancel();
                }
                () = &mut given_up, if ending => break,
            }
        }
        drop(running);
        self.give_up(&lanes, slots);
    }

    /// Fills the slots of calls that did not report their outcome in time; those still in their lanes were never started.
    fn give_up(&self, lanes: &[Lane], slots: &mut ReplySlots<'_>) {
        for (position, call) in slots.open() {
            let mut waiting = lanes.iter().flatten();
            let content = if waiting.any(|step| step.position == position) {
                format!("Error: Tool '{}' was not run: {}", call.name, self.why_over())
            } else {
                format!("Error: Tool '{}' was cancelled; side effects may have happened", call.name)
            };
            let reply = ToolReply { content, is_error: true, ..ToolReply::default() };
            let reply = self.finished(&call.id, &call.name, None, reply);
            self.record_reply(position, &reply, ErrorKind::Cancelled.code());
            slots.fill(position, reply);
        }
    }

    /// Creates one lane for each call; if writes are sequential, one for all of them.
    fn lanes(&self, steps: Vec<CallStep>) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut writes: Option<usize> = None;
        for step in steps {
            let writing = self.agent.config.sequential_writes && self.writes(&step.call);
            match writes {
                Some(lane) if writing => lanes[lane].push_back(step),
                _ => {
                    if writing {
                        writes = Some(lanes.len());
                    }
                    lanes.push(Lane::from([step]));
                }
            }
        }
        lanes
    }

    fn writes(&self, call: &ToolCall) -> bool {
        let tool = self.agent.tool(&call.name);
        !tool.is_some_and(|tool| tool.spec().is_read_only())
    }

    /// Runs one call, or records why it is not run.
    async fn perform(&self, step: CallStep) -> (usize, ToolReply) {
        let CallStep { position, call, refused, nudge } = step;
        let (id, name) = (call.id.clone(), call.name.clone());
        let args = call.args.clone();
        (self.events)(AgentEvent::CallStarted { id: id.clone(), name: name.clone(), args });
        let is_search = self.search.is_some() && name == offered_tools::SEARCH;
        let replies = CallReplies {
            search: is_search.then(|| self.agent.clone()),
            nudge: nudge.map(Into::into),
        };
        let cx = CallContext {
            before_close: self.note_before_close(position, &replies),
            ..self.call_context(&id, &name, position)
        };
        let executor = &self.agent.executor;
        let result = match refused.or_else(|| self.too_late(&name)) {
            Some(error) => executor.refuse(call, error, &cx).await,
            None => executor.execute(call, &cx).await,
        };
        let reply = replies.of(&result);
        if let (true, Some(whole)) = (result.truncated, result.artifacts.first()) {
            self.fit.note_whole(&id, &whole.id);
        }
        (position, self.finished(&id, &name, Some(&result), reply))
    }

    /// Returns the failure of a call that is too late to be started.
    fn too_late(&self, name: &str) -> Option<ToolError> {
        self.is_over().map(|_| not_run(name, self.why_over()))
    }

    fn why_over(&self) -> &'static str {
        match self.is_over() {
            Some(StopCause::Cancelled) => "the turn was cancelled",
            _ => "the time budget is spent",
        }
    }

    fn call_context(&self, id: &str, name: &str, position: usize) -> CallContext {
        let (id, events) = (id.to_owned(), self.events.clone());
        let progress =
            Progress::to(move |update| events(AgentEvent::Progress { id: id.clone(), update }));
        let (before_run, call_key) =
            (self.note_before_run(name, position), self.call_key(position));
        let cancel = self.stop.clone();
        let turn_sha256 = self.live.as_ref().and_then(|live| live.turn_sha256());
        let mut cx =
            CallContext { cancel, progress, before_run, call_key, turn_sha256, ..self.cx.clone() };
        if self.search.is_some() && SearchOffer::is_shared(name) {
            cx.visibility = offered_tools::visibility(self.agent, &self.cx.visibility);
        }
        cx
    }

    /// Notifies observers, and passes the reply on.
    pub(crate) fn finished(
        &self,
        id: &str,
        name: &str,
        result: Option<&ToolResult>,
        reply: ToolReply,
    ) -> ToolReply {
        (self.events)(AgentEvent::CallFinished {
            id: id.to_owned(),
            name: name.to_owned(),
            outcome: result.map_or(ErrorKind::Cancelled.code(), ToolResult::outcome_code),
            content: reply.content.clone(),
            elapsed: result.map_or(Duration::ZERO, |result| result.elapsed),
            call_id: result.map(|result| result.call_id),
        });
        reply
    }
}
