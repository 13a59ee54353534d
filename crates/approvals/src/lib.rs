//! The queue of calls that wait for a person's approval, shared by all processes of one user.
//!
//! [`ApprovalQueue`] stores into a folder, or into another [`ApprovalStore`] that more processes see. A process that holds a call
//! writes a pending approval and keeps its file locked while it waits; the process that decides writes the outcome beside it. An outcome is
//! written once (a hard link cannot replace a file), so that of two people who decide, or of one who decides just as the time
//! runs out, one wins and the other gets an error. What a person always allows is an [`AllowRule`]. Who may decide is up to the
//! callers of this crate.
//!
//! ```
//! use std::sync::Arc;
//! # use std::time::Duration;
//! use serde_json::json;
//! # use serde_json::{Map, Value};
//! use switchboard_approvals::{ApprovalDecision, ApprovalQueue, Decider};
//! use switchboard_runtime::{PolicyConfig, RulePolicy, ToolExecutor};
//! # use switchboard_toolcall::{CallContext, tool_fn};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let queue = Arc::new(ApprovalQueue::open(folder.path()));
//! let policy = RulePolicy::new(PolicyConfig { ask: vec!["delete".to_owned()], ..Default::default() })?;
//! let executor = ToolExecutor::builder().policy(policy).approver(queue.clone()).build();
//! # let delete = tool_fn("delete", |_: Map<String, Value>, _: CallContext| async { "deleted" }).describe("Deletes a file.");
//! # executor.tools().add(delete)?;
//! let call = tokio::spawn(async move { executor.call("delete", json!({})).await });
//! # while queue.pending()?.is_empty() { tokio::time::sleep(Duration::from_millis(10)).await }
//!
//! // Perhaps in another process:
//! let pending = &queue.pending()?[0];
//! let (by, decider) = ("Ada".to_owned(), Decider::Owner);
//! queue.decide(&pending.id, ApprovalDecision { allow: true, by, decider, reason: None, remember: None })?;
//! assert_eq!(call.await?.text(), "deleted");
//! # Ok(()) }
//! ```

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
