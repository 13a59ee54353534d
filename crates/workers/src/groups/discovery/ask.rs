//! Asks workers whether they are there.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use crate::{Cluster, Purpose, groups::group::Group, replies, wire::WorkerNotice};

/// How long a worker may take to say that it is there.
const REPORTED: Duration = Duration::from_millis(700);

/// How many workers are asked at once.
const ASKED: usize = 1_000;

/// How long such questions may go on: meanwhile no messages are heard.
const ASKING: Duration = Duration::from_secs(2);

/// Asks these workers whether they are there. Returns those that do not reply.
pub(in crate::groups) async fn without_reply(
    cluster: &Cluster,
    mut asked: Vec<(Arc<Group>, String)>,
) -> Vec<(Arc<Group>, String)> {
    let mut gone = Vec::new();
    let began = Instant::now();
    // Those that are not asked in time are asked when they are next found missing.
    while !asked.is_empty() && began.elapsed() < ASKING {
        let rest = asked.split_off(asked.len().min(ASKED));
        let replies = join_all(asked.iter().map(|(_, worker)| is_there(cluster, worker))).await;
        let is_any = replies.contains(&true);
        for ((group, worker), is_there) in asked.into_iter().zip(replies) {
            if is_there {
                group.hears(&worker);
            } else {
                gone.push((group, worker));
            }
        }
        asked = rest;
        // If none of so many is there, the rest is not either.
        if !is_any && gone.len() >= ASKED {
            gone.append(&mut asked);
        }
    }
    gone
}

/// Asks a worker whether it is there. NATS says at once if it is not connected.
async fn is_there(cluster: &Cluster, worker: &str) -> bool {
    let subject = cluster.names().worker(worker);
    let signer = cluster.signer();
    let Ok(notice) = signer.write(Purpose::Notice, &[&subject], &WorkerNotice::Report) else {
        return false;
    };
    match timeout(REPORTED, cluster.request(subject, notice)).await {
        Ok(Ok(reply)) => replies::open(cluster, &reply).is_ok(),
        Ok(Err(_)) | Err(_) => false,
    }
}
