//! Where calls wait for a person: on this machine, and, with a cluster, at any of its gateways.

use anyhow::Context;
use switchboard_approvals::{Desk, Error, Pending, Rule};
use switchboard_cluster::ClusterView;

use crate::{approvals, cluster, connections::on_runtime, settings::Loaded};

/// The desks that a command looks at: that of this machine first.
pub(super) struct Desks(Vec<Desk>);

/// Does `work` at all desks.
///
/// # Errors
/// There is none, the cluster cannot be reached, or the work fails.
pub(super) fn visit(
    loaded: &Loaded,
    work: impl FnOnce(&Desks) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let own = approvals::folder(loaded).map(Desk::open);
    if loaded.settings.cluster.nats.is_none() {
        let own =
            own.context("there is no place for approvals: neither XDG_STATE_HOME nor HOME is set")?;
        return work(&Desks(vec![own]));
    }
    on_runtime(async {
        let cluster = cluster::connect(loaded).await?.context("there is no cluster")?;
        let mut visit = ClusterView::new(&cluster);
        let desks = Desks(own.into_iter().chain([visit.desk().await?]).collect());
        tokio::task::block_in_place(|| work(&desks))
    })
}

impl Desks {
    /// The calls that wait, oldest first.
    ///
    /// # Errors
    /// A desk cannot be read.
    pub(super) fn pending(&self) -> Result<Vec<Pending>, Error> {
        let mut pending = Vec::new();
        for desk in &self.0 {
            pending.extend(desk.pending()?);
        }
        pending.sort_by_key(|question| question.call_id);
        Ok(pending)
    }

    /// The desk and the full id of the one call that waits under an id that begins so.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(super) fn complete(&self, beginning: &str) -> Result<(&Desk, String), Error> {
        let mut found = Vec::new();
        for desk in &self.0 {
            let id = desk.complete(beginning)?;
            match desk.find(&id) {
                Err(Error::Unknown(_)) => {}
                // What is over is found as well, so that whoever decides it is told.
                Ok(_) | Err(Error::Over { .. }) => found.push((desk, id)),
                Err(error) => return Err(error),
            }
        }
        match found.len() {
            0 => Err(Error::Unknown(beginning.to_owned())),
            1 => Ok(found.remove(0)),
            _ => {
                let found = found.into_iter().map(|(_, id)| id).collect();
                Err(Error::Several { id: beginning.to_owned(), found })
            }
        }
    }

    /// What is allowed for good.
    ///
    /// # Errors
    /// A desk cannot be read.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, Error> {
        let mut rules = Vec::new();
        for desk in &self.0 {
            rules.extend(desk.rules()?);
        }
        Ok(rules)
    }

    /// Forgets a rule, wherever it is.
    ///
    /// # Errors
    /// There is none of this id, or it cannot be forgotten.
    pub(super) fn forget(&self, id: &str) -> Result<Rule, Error> {
        for desk in &self.0 {
            match desk.forget(id) {
                Err(Error::NoRule(_)) => {}
                done => return done,
            }
        }
        Err(Error::NoRule(id.to_owned()))
    }
}
