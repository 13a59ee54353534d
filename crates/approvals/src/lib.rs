//! The queue of calls that wait for a person's approval, shared by all processes of one user.
//!
//! [`ApprovalQueue`] stores into a folder, or into another [`ApprovalStore`] that more processes see. A process that holds a call
//! writes a pending approval and keeps its file locked while it waits; whoever decides writes the outcome beside it. An outcome is
//! written once (a hard link cannot replace a file), so that of two people who decide, or of one who decides just as the time
//! runs out, one wins and the other gets an error. What a person allows for good is an [`AllowRule`]. Who may decide is up to the
//! callers of this crate.

mod approval;
mod decider;
mod queue;
mod rules;
mod store;
mod error;
mod folder;

pub use approval::{ApprovalOutcome, PendingApproval, ResolvedApproval};
pub use decider::Decider;
pub use error::Error;
pub use queue::{ApprovalDecision, ApprovalQueue, RuleLookup, RuleScope};
pub use rules::{AddedRule, AllowRule};
pub use store::{ApprovalStore, EarlierOutcome, PendingGuard};
