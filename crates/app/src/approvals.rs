//! Who is asked about calls that a person must allow: somebody at this terminal, somebody elsewhere, or nobody.

mod held;
mod person;
pub(crate) mod arguments;

use std::{path::PathBuf, sync::Arc};

use switchboard_approvals::{ApprovalQueue, RuleLookup};
use switchboard_runtime::{
    Approver,
    approval::{Asked, Nobody, Question},
};
use switchboard_toolcall::BoxError;

use crate::{
    environment,
    settings::Loaded,
    terminal::{self, ask, text},
};
pub(crate) use held::HeldCalls;
use person::TerminalApprover;
pub(crate) use person::who;

/// The queue of this user, on this machine, if there is a folder for it.
pub(crate) fn queue(loaded: &Loaded) -> Option<Arc<ApprovalQueue>> {
    folder(loaded).map(|folder| Arc::new(ApprovalQueue::open(folder)))
}

/// Where the queue of this user is, on this machine.
pub(crate) fn folder(loaded: &Loaded) -> Option<PathBuf> {
    let folder = environment::state_home().or_else(|| loaded.settings.audit.path.clone())?;
    Some(folder.join("approvals"))
}

/// For a command that ends with its call: somebody at this terminal, or nobody.
pub(crate) fn here(loaded: &Loaded) -> Arc<dyn Approver> {
    match (queue(loaded), ask::is_possible()) {
        (Some(queue), true) => Arc::new(TerminalApprover::new(queue)),
        (Some(queue), false) => Arc::new(RulesOnlyApprover(queue)),
        (None, _) => nowhere(),
    }
}

/// For a conversation: somebody at this terminal; where there is none, whoever runs `switchboard approve`.
pub(crate) fn here_or_elsewhere(loaded: &Loaded) -> Arc<dyn Approver> {
    match (queue(loaded), ask::is_possible()) {
        (Some(queue), true) => Arc::new(TerminalApprover::new(queue)),
        (Some(queue), false) => Arc::new(AnnouncingApprover(queue)),
        (None, _) => nowhere(),
    }
}

/// For what runs on: whoever runs `switchboard approve`, or decides over HTTP.
pub(crate) fn elsewhere(queue: Option<Arc<ApprovalQueue>>) -> Arc<dyn Approver> {
    queue.map_or_else(nowhere, |queue| queue as Arc<dyn Approver>)
}

fn nowhere() -> Arc<dyn Approver> {
    let text = "There is no folder for approvals: set XDG_STATE_HOME or HOME.";
    Arc::new(Nobody(text.to_owned()))
}

/// Nobody is asked; but what was allowed for good is allowed.
struct RulesOnlyApprover(Arc<ApprovalQueue>);

impl Approver for RulesOnlyApprover {
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError> {
        let what_to_do = "Call it on a terminal, or through `switchboard serve`, where `switchboard approve` allows it.";
        Ok(match self.0.match_rules(&question)? {
            RuleLookup::Allowed(decision) => Asked::Decided(decision),
            RuleLookup::Ask { note: Some(note) } => {
                Asked::Nobody(format!("{what_to_do} Note: {note}."))
            }
            RuleLookup::Ask { note: None } => Asked::Nobody(what_to_do.to_owned()),
        })
    }
}

/// Where nobody reads the log, people are told on stderr that a call waits.
struct AnnouncingApprover(Arc<ApprovalQueue>);

impl Approver for AnnouncingApprover {
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError> {
        let tool = text::one_line(&question.tool);
        let asked = self.0.ask(question)?;
        if let Asked::Held(held) = &asked {
            let id = &held.id;
            terminal::tell(&format!(
                "{tool} waits for a person: `switchboard approve {id}` allows it, with --deny it does not run"
            ));
        }
        Ok(asked)
    }
}
