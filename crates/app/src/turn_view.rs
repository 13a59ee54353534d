//! Shows one turn of a conversation: text as it arrives, calls while they run, Ctrl-C.

mod ending;
mod markdown;
mod screen;
mod status;
mod wrap;

use std::{pin::pin, sync::Arc};

use anyhow::Context;
use switchboard_agent::{
    Agent, AgentEvent, AgentEvents, AgentOutcome, Conversation, UnfinishedRun,
};
use switchboard_toolcall::CallContext;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use crate::{
    approvals::HeldCalls,
    model::ChosenModel,
    questions::{self, Sampler},
    terminal::spinner,
};

pub(crate) use ending::{TurnEnding, summary};
pub(crate) use screen::{AnswerDisplay, TurnScreen};

/// Runs the agent on the user's last message, or on an interrupted run, and shows its events. Returns `None` after a second Ctrl-C: the first one
/// cancels the turn, the second does not wait for that. `held` handles calls that the running gateway holds.
///
/// # Errors
/// Writing to stdout fails.
pub(crate) async fn turn(
    agent: &Agent,
    conversation: &mut Conversation,
    unfinished: Option<UnfinishedRun>,
    chosen: &ChosenModel,
    screen: &mut TurnScreen,
    mut held: Option<&mut HeldCalls>,
) -> anyhow::Result<Option<AgentOutcome>> {
    let mut interrupts = signal(SignalKind::interrupt()).context("failed to watch for Ctrl-C")?;
    let (sender, mut events) = mpsc::unbounded_channel();
    // Sending fails only after the turn is over.
    let tell: AgentEvents = Arc::new(move |event| _ = sender.send(event));
    let mut cx = CallContext::for_owner("command line").with_client("chat");
    cx.caller_channel = questions::here(Sampler::Chosen(chosen.clone()));
    let mut steps = interval(spinner::STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
    screen.begin();
    let outcome = {
        let run = async {
            let Some(unfinished) = unfinished else {
                return agent.run(conversation, &tell, &cx).await;
            };
            let (resumed, outcome) = agent.resume(unfinished, &tell, &cx).await;
            *conversation = resumed;
            outcome
        };
        let mut run = pin!(run);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    if let (AgentEvent::Progress { update, .. }, Some(held)) = (&event, &mut held) {
                        held.hear(update.message.as_deref().unwrap_or_default());
                    }
                    screen.show(event)?;
                }
                outcome = &mut run => break Some(outcome),
                _ = interrupts.recv() => {
                    if cx.cancel.is_cancelled() {
                        break None;
                    }
                    cx.cancel.cancel();
                }
                _ = steps.tick(), if screen.is_watched() => screen.step(),
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        screen.show(event)?;
    }
    screen.end()?;
    Ok(outcome)
}
