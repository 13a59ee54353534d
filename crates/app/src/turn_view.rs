//! One turn of a conversation, as people live through it: text while it comes, calls while they run, Ctrl-C.

mod ending;
mod markdown;
mod screen;
mod status;
mod wrap;

use std::{pin::pin, sync::Arc};

use anyhow::Context;
use switchboard_agent::{Agent, Conversation, Events, Outcome};
use switchboard_toolcall::CallContext;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use crate::{
    model::ChosenModel,
    questions::{self, Sampler},
    terminal::spinner,
};

pub(crate) use ending::{TurnEnding, summary};
pub(crate) use screen::{AnswerDisplay, TurnScreen};

/// Answers what the user said last, and shows what happens meanwhile. `None` if nobody waits for the outcome: a first
/// Ctrl-C cancels the turn, a second one does not wait for that.
///
/// # Errors
/// Stdout takes no more.
pub(crate) async fn turn(
    agent: &Agent,
    conversation: &mut Conversation,
    chosen: &ChosenModel,
    screen: &mut TurnScreen,
) -> anyhow::Result<Option<Outcome>> {
    let mut interrupts = signal(SignalKind::interrupt()).context("failed to watch for Ctrl-C")?;
    let (sender, mut events) = mpsc::unbounded_channel();
    // Nobody listens only when the turn is over.
    let tell: Events = Arc::new(move |event| _ = sender.send(event));
    let mut cx = CallContext::for_caller("command line").with_client("chat");
    cx.way_back = questions::here(Sampler::Chosen(chosen.clone()));
    let mut steps = interval(spinner::STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
    screen.begin();
    let outcome = {
        let mut run = pin!(agent.run(conversation, &tell, &cx));
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => screen.show(event)?,
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
