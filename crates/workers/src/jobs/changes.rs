//! Queued calls as they change, for who wants to watch.

use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use serde::Serialize;
use switchboard_runtime::QueueState;
use switchboard_toolcall::{CallId, ErrorKind};
use tokio::time::sleep;
use tracing::warn;

use super::{
    Jobs, Payload,
    state::{JobState, PURPOSE},
};
use crate::{
    Bucket, Error,
    clock::moment,
    transport::{Entry, Watch},
    wire::{self, Failure, Outcome, Step},
};

/// How long is waited before the servers are asked again, after they could not be.
const PAUSE: Duration = Duration::from_secs(1);

/// How a queued call has become.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The id under which it was queued.
    pub id: CallId,
    /// The tool's full name.
    pub tool: String,
    /// The group whose workers run it.
    pub server: String,
    /// Who asked for it.
    pub caller: Option<String>,
    /// How it is.
    pub state: QueueState,
    /// How often it was begun.
    pub attempts: u32,
    /// Who began it last.
    pub worker: Option<String>,
    /// How far it is, where the tool said so.
    pub progress: Option<Step>,
    /// Why the last attempt failed, where it is to be tried again.
    pub last_error: Option<Failure>,
    /// The kind of failure, where it ended with one.
    pub error_kind: Option<ErrorKind>,
    /// When it was queued.
    #[serde(skip)]
    pub queued: SystemTime,
    /// When it changed.
    #[serde(skip)]
    pub changed: SystemTime,
}

/// What changes from now on.
pub struct Changes {
    jobs: Jobs,
    watch: Option<Watch>,
}

impl Jobs {
    /// Queued calls as they change from now on, whoever queued them.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn changes(&self) -> Result<Changes, Error> {
        let watch = Some(self.watch().await?);
        Ok(Changes { jobs: self.clone(), watch })
    }

    async fn watch(&self) -> Result<Watch, Error> {
        let store = self.cluster().bucket(Bucket::Calls).await?;
        store.watch_new().await.map_err(Error::refused("tell of queued calls"))
    }
}

impl Changes {
    /// The next change; waits for servers that are away.
    pub async fn next(&mut self) -> Change {
        loop {
            let Some(watch) = &mut self.watch else {
                sleep(PAUSE).await;
                self.watch = self.jobs.watch().await.ok();
                continue;
            };
            match watch.next().await {
                Some(Ok(Entry { key, value: Some(value), .. })) => {
                    let opened = self.jobs.cluster().signer().open(PURPOSE, &[&key], &value);
                    let kept = opened.and_then(|opened| {
                        wire::read::<JobState>("the entry of a call", &opened.body)
                    });
                    match kept {
                        // A sign of life alone is no news.
                        Ok(kept) if kept.is_news() => return kept.into(),
                        Ok(_) => {}
                        Err(error) => warn!(%error, "an entry is passed over"),
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    warn!(%error, "queued calls cannot be watched for a while");
                    self.watch = None;
                }
                None => self.watch = None,
            }
        }
    }
}

impl From<JobState> for Change {
    fn from(kept: JobState) -> Self {
        let outcome = kept.ended.as_ref().map(|ended| &ended.outcome);
        let error_kind = match outcome {
            Some(Payload::Here(Outcome::Failure(failure))) => Some(failure.kind),
            // What is large is an answer.
            _ => None,
        };
        Self {
            error_kind,
            id: kept.call,
            tool: kept.name,
            server: kept.group,
            caller: kept.caller,
            state: kept.state,
            attempts: kept.attempts,
            worker: kept.worker,
            progress: kept.progress,
            last_error: kept.last_error.filter(|_| kept.state == QueueState::Queued),
            queued: moment(kept.queued_ms),
            changed: moment(kept.changed_ms),
        }
    }
}
