//! Who decides about calls that a person must allow: the person at this terminal, a person elsewhere, or nobody.

mod held;
mod person;
pub(crate) mod arguments;

use std::{path::PathBuf, sync::Arc};

use switchboard_approvals::{ApprovalQueue, RuleLookup};
use switchboard_runtime::{
    Approver,
    approval::{ApprovalRequest, AskOutcome, NoApprover},
};
use switchboard_toolcall::BoxError;

use crate::{
    environment,
    settings::LoadedConfig,
    terminal::{self, ask, text},
};
pub(crate) use held::HeldCalls;
use person::TerminalApprover;
pub(crate) use person::who;

/// Returns this user's queue on this machine; `None` if there is no folder for it.
pub(crate) fn queue(loaded: &LoadedConfig) -> Option<Arc<ApprovalQueue>> {
    folder(loaded).map(|folder| Arc::new(ApprovalQueue::open(folder)))
}

/// Returns the folder of this user's queue on this machine.
pub(crate) fn folder(loaded: &LoadedConfig) -> Option<PathBuf> {
    let folder = environment::state_home().or_else(|| loaded.settings.audit.path.clone())?;
    Some(folder.join("approvals"))
}

/// Returns the approver of a command that ends with its call: the person at this terminal, or nobody.
pub(crate) fn here(loaded: &LoadedConfig) -> Arc<dyn Approver> {
    match (queue(loaded), ask::is_possible()) {
        (Some(queue), true) => Arc::new(TerminalApprover::new(queue)),
        (Some(queue), false) => Arc::new(RulesOnlyApprover(queue)),
        (None, _) => nowhere(),
    }
}

/// Returns the approver of a conversation: the person at this terminal; without a terminal, a person who runs
/// `switchboard approve`.
pub(crate) fn here_or_elsewhere(loaded: &LoadedConfig) -> Arc<dyn Approver> {
    match (queue(loaded), ask::is_possible()) {
        (Some(queue), true) => Arc::new(TerminalApprover::new(queue)),
        (Some(queue), false) => Arc::new(AnnouncingApprover(queue)),
        (None, _) => nowhere(),
    }
}

/// Returns the approver of a long-running command: a person who runs `switchboard approve`, or decides over HTTP.
pub(crate) fn elsewhere(queue: Option<Arc<ApprovalQueue>>) -> Arc<dyn Approver> {
    queue.map_or_else(nowhere, |queue| queue as Arc<dyn Approver>)
}

fn nowhere() -> Arc<dyn Approver> {
    let text = "There is no folder for approvals: set XDG_STATE_HOME or HOME.";
    Arc::new(NoApprover(text.to_owned()))
}

/// Asks nobody: only calls that a remembered rule allows are allowed.
struct RulesOnlyApprover(Arc<ApprovalQueue>);

impl Approver for RulesOnlyApprover {
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        let what_to_do = "Call it on a terminal, or through `switchboard serve`, where `switchboard approve` allows it.";
        Ok(match self.0.match_rules(&question)? {
            RuleLookup::Allowed(decision) => AskOutcome::Decided(decision),
            RuleLookup::Ask { note: Some(note) } => {
                AskOutcome::Nobody(format!("{what_to_do} Note: {note}."))
            }
            RuleLookup::Ask { note: None } => AskOutcome::Nobody(what_to_do.to_owned()),
        })
    }
}

/// Queues calls, and says on stderr that they wait, for people who do not read the log.
struct AnnouncingApprover(Arc<ApprovalQueue>);

impl Approver for AnnouncingApprover {
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        let tool = text::one_line(&question.tool);
        let asked = self.0.ask(question)?;
        if let AskOutcome::Held(held) = &asked {
            let id = &held.id;
            terminal::tell(&format!(
                "{tool} waits for a person: `switchboard approve {id}` allows it, with --deny it does not run"
            ));
        }
        Ok(asked)
    }
}
