//! Where a queue keeps pending approvals, outcomes and rules.

use switchboard_toolcall::BoxFuture;
use tokio::sync::Notify;

use crate::{
    approval::{ApprovalOutcome, PendingApproval},
    error::Error,
    rules::{AddedRule, AllowRule},
};

/// Keeps pending approvals, outcomes and rules: in a folder for the processes of one user, or somewhere that many machines see.
///
/// Reading must not block for long: it happens on serving threads. Deciding and changing rules may wait for other processes.
pub trait ApprovalStore: Send + Sync {
    /// Notifies of outcomes. May miss some: those who wait look from time to time as well.
    fn changed(&self) -> &Notify;

    /// Adds a pending approval, until the guard is dropped or the process ends.
    ///
    /// # Errors
    /// The store cannot be written.
    fn insert(&self, question: &PendingApproval) -> Result<PendingGuard, Error>;

    /// Returns the approvals that some process waits for, decided or not.
    ///
    /// # Errors
    /// The store cannot be read.
    fn pending(&self) -> Result<Vec<PendingApproval>, Error>;

    /// Returns the approval with this id if a process still waits for it.
    ///
    /// # Errors
    /// The store cannot be read.
    fn find(&self, id: &str) -> Result<Option<PendingApproval>, Error>;

    /// Returns the outcome of an approval if it has one.
    ///
    /// # Errors
    /// The store cannot be read.
    fn outcome(&self, id: &str) -> Result<Option<ApprovalOutcome>, Error>;

    /// Writes an outcome unless there is one, which is returned then. Blocks.
    ///
    /// # Errors
    /// The store cannot be written.
    fn decide_once(
        &self,
        id: &str,
        outcome: &ApprovalOutcome,
    ) -> Result<Option<ApprovalOutcome>, Error>;

    /// [`decide_once`](Self::decide_once) without blocking.
    fn expire<'a>(
        &'a self,
        id: &'a str,
        outcome: &'a ApprovalOutcome,
    ) -> BoxFuture<'a, EarlierOutcome> {
        Box::pin(async move { self.decide_once(id, outcome) })
    }

    /// [`decide_once`](Self::decide_once) in the background.
    fn withdraw(&self, id: &str, outcome: ApprovalOutcome) {
        if let Err(error) = self.decide_once(id, &outcome) {
            tracing::warn!(error = &error as &dyn std::error::Error, "an approval is left open");
        }
    }

    /// Returns all rules, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn rules(&self) -> Result<Vec<AllowRule>, Error>;

    /// Stores a rule unless an equal one exists. Blocks.
    ///
    /// # Errors
    /// The store cannot be written.
    fn add_rule(&self, rule: AllowRule) -> Result<AddedRule, Error>;

    /// Removes a rule. Blocks.
    ///
    /// # Errors
    /// No rule has this id, or the store cannot be written.
    fn forget_rule(&self, id: &str) -> Result<AllowRule, Error>;

    /// Removes old outcomes.
    fn sweep(&self);
}

/// The outcome that was written before, if any.
pub type EarlierOutcome = Result<Option<ApprovalOutcome>, Error>;

/// Removes a pending approval from its store when dropped.
pub type PendingGuard = Box<dyn Send + Sync>;
