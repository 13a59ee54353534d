//! Dead letters: calls that were given up, with all that is needed to look into them.

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use super::{Job, Jobs, Placed, state::now_ms};
use crate::{Error, wire, wire::Failure};

/// A call that was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The id under which it was queued.
    pub call: CallId,
    /// How often it was begun.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Failure,
    /// When it was given up, in milliseconds since 1970.
    pub died_ms: u64,
    /// The call as it lay in the queue.
    pub job: Placed<Job>,
}

impl Jobs {
    /// Lays a call to the dead letters, once.
    pub(crate) async fn bury(
        &self,
        job: &Job,
        placed: Placed<Job>,
        attempts: u32,
        error: Failure,
    ) -> Result<(), Error> {
        let call = job.id();
        let letter = DeadLetter { call, attempts, error, died_ms: now_ms(), job: placed };
        self.dead_letters().await?;
        let subject = self.cluster().names().subject(&["dead", &job.group, &job.request.tool]);
        self.publish(&subject, &call.to_string(), wire::write(&letter)?).await.map(drop)
    }
}
