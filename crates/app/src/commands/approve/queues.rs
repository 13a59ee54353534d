//! The approval queues: that of this machine and, with a cluster, that of its gateways.

use anyhow::Context;
use switchboard_approvals::{AllowRule, ApprovalQueue, Error, PendingApproval};
use switchboard_cluster::ClusterView;

use crate::{approvals, cluster, runtime::on_runtime, settings::LoadedConfig};

/// The queues that a command reads, this machine's first.
pub(super) struct ApprovalQueues(Vec<ApprovalQueue>);

/// Does `work` at all queues.
///
/// # Errors
/// Returns an error if there is no queue, if the cluster cannot be reached, or if `work` fails.
pub(super) fn visit(
    loaded: &LoadedConfig,
    work: impl FnOnce(&ApprovalQueues) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let own = approvals::folder(loaded).map(ApprovalQueue::open);
    if loaded.settings.cluster.nats.is_none() {
        let own =
            own.context("there is no place for approvals: neither XDG_STATE_HOME nor HOME is set")?;
        return work(&ApprovalQueues(vec![own]));
    }
    on_runtime(async {
        let cluster = cluster::connect(loaded).await?.context("there is no cluster")?;
        let mut visit = ClusterView::new(&cluster);
        let queues = ApprovalQueues(own.into_iter().chain([visit.queue().await?]).collect());
        tokio::task::block_in_place(|| work(&queues))
    })
}

impl ApprovalQueues {
    /// The calls that wait, oldest first.
    ///
    /// # Errors
    /// A queue cannot be read.
    pub(super) fn pending(&self) -> Result<Vec<PendingApproval>, Error> {
        let mut pending = Vec::new();
        for queue in &self.0 {
            pending.extend(queue.pending()?);
        }
        pending.sort_by_key(|question| question.call_id);
        Ok(pending)
    }

    /// Returns the queue and the full id of the one pending call whose id begins with `beginning`.
    ///
    /// # Errors
    /// Returns an error if no pending call, or more than one, has such an id.
    pub(super) fn complete(&self, beginning: &str) -> Result<(&ApprovalQueue, String), Error> {
        let mut found = Vec::new();
        for queue in &self.0 {
            let id = queue.complete(beginning)?;
            match queue.find(&id) {
                Err(Error::Unknown(_)) => {}
                // A closed approval counts as found, so that the person learns that it was decided or expired.
                Ok(_) | Err(Error::Closed { .. }) => found.push((queue, id)),
                Err(error) => return Err(error),
            }
        }
        match found.len() {
            0 => Err(Error::Unknown(beginning.to_owned())),
            1 => Ok(found.remove(0)),
            _ => {
                let found = found.into_iter().map(|(_, id)| id).collect();
                Err(Error::Ambiguous { id: beginning.to_owned(), found })
            }
        }
    }

    /// Returns the rules that people asked to be remembered.
    ///
    /// # Errors
    /// A queue cannot be read.
    pub(super) fn rules(&self) -> Result<Vec<AllowRule>, Error> {
        let mut rules = Vec::new();
        for queue in &self.0 {
            rules.extend(queue.rules()?);
        }
        Ok(rules)
    }

    /// Deletes a rule from the queue that has it.
    ///
    /// # Errors
    /// Returns an error if no queue has a rule with this id, or if it cannot be deleted.
    pub(super) fn forget(&self, id: &str) -> Result<AllowRule, Error> {
        for queue in &self.0 {
            match queue.forget(id) {
                Err(Error::UnknownRule(_)) => {}
                done => return done,
            }
        }
        Err(Error::UnknownRule(id.to_owned()))
    }
}
