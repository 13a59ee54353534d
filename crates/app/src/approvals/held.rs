//! Calls of this command that the running gateway holds until a person allows them.

use std::{sync::Arc, time::Duration};

use switchboard_approvals::{ApprovalQueue, Decider, PendingApproval};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::{
    person::{CallToDecide, TerminalApprover},
    queue,
};
use crate::{
    settings::LoadedConfig,
    terminal::{self, ask, text},
};

/// How the progress message of a held call begins; the id of its approval follows.
const HELD: &str = "waits for a person to allow it: approval ";

/// How often to check whether somebody decided elsewhere.
const LOOK: Duration = Duration::from_millis(250);

/// The held calls of this command: the person at this terminal is asked, or told how to allow them.
pub(crate) struct HeldCalls {
    queue: Option<Arc<ApprovalQueue>>,
    asked: Vec<(String, Option<AbortOnDropHandle<()>>)>,
}

impl HeldCalls {
    pub(crate) fn new(loaded: &LoadedConfig) -> Self {
        Self { queue: queue(loaded), asked: Vec::new() }
    }

    /// Takes a progress message of a call. Returns whether it says that the call is held.
    pub(crate) fn hear(&mut self, message: &str) -> bool {
        let Some((id, queue)) = message.strip_prefix(HELD).zip(self.queue.as_ref()) else {
            return false;
        };
        if self.asked.iter().any(|(asked, _)| asked == id) {
            return true;
        }
        // Ignored unless the queue has this id: a tool may write the same text into its progress.
        let Ok(held) = queue.find(id) else { return false };
        let may_answer = !held.four_eyes || Decider::Owner.is_other_than(held.asked_by.as_deref());
        let task = match ask::is_possible() && may_answer {
            true => {
                let task = tokio::spawn(ask_here(queue.clone(), held));
                Some(AbortOnDropHandle::new(task))
            }
            false => {
                let tool = text::one_line(&held.tool);
                terminal::tell(&format!(
                    "{tool} waits for a person: `switchboard approve {id}` allows it, with --deny it does not run"
                ));
                None
            }
        };
        self.asked.push((id.to_owned(), task));
        true
    }
}

async fn ask_here(queue: Arc<ApprovalQueue>, held: PendingApproval) {
    let approver = TerminalApprover::new(queue.clone());
    let shown =
        CallToDecide { tool: &held.tool, arguments: held.arguments.get(), rule: &held.reason };
    let decided_elsewhere = async {
        while queue.find(&held.id).is_ok() {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        biased;
        answered = approver.answer(&shown, &held.id) => {
            if let Err(error) = answered {
                tracing::warn!("the person at this terminal could not be asked: {error}");
            }
        }
        () = decided_elsewhere => terminal::tell("  decided elsewhere"),
    }
}
