//! The records of all nodes, read from one place.
//!
//! Each node ships what its journal says to one stream ([`Shipping`]); anybody of the fleet reads it ([`Records`]). A
//! call is told of when it begins and when it ends, and the end holds the beginning: so the stream can be read from its
//! end on. What is told twice is the same call at the same stage, and counts once.

mod follow;
mod list;
mod nodes;
mod ship;
mod window;

use std::time::Duration;

use async_nats::jetstream::{
    self,
    context::CreateStreamErrorKind,
    stream::{Compression, Stream},
};
use switchboard_audit::CallStage;
use switchboard_workers::{Cluster, Error};

use crate::streams::find;

pub use follow::Follow;
pub use list::{Reading, Records};
pub use ship::{Progress, Shipping, ship_once};

/// The word that the stream's name ends with, and that its subjects have.
const STREAM: &str = "records";

/// Where a node tells of calls at that stage.
fn subject(cluster: &Cluster, node: &str, stage: CallStage) -> String {
    cluster.names().subject(&["record", node, stage.as_str()])
}

/// Where all nodes tell of calls at that stage.
fn subjects(cluster: &Cluster, stage: CallStage) -> String {
    format!("{}.*.{}", cluster.names().subject(&["record"]), stage.as_str())
}

/// The stream, made where it is not there yet.
async fn make(cluster: &Cluster, max_age: Duration) -> Result<Stream, Error> {
    let name = cluster.names().stream(STREAM);
    let config = jetstream::stream::Config {
        name: name.clone(),
        description: Some("What was called on each node, as its journal has it.".to_owned()),
        subjects: vec![format!("{}.>", cluster.names().subject(&["record"]))],
        max_age,
        num_replicas: cluster.replicas(),
        compression: Some(Compression::S2),
        allow_direct: true,
        ..jetstream::stream::Config::default()
    };
    match cluster.nats()?.jetstream().create_stream(config).await {
        Ok(stream) => Ok(stream),
        Err(error) => match (error.kind(), open(cluster).await) {
            // It may be there with other settings, which somebody chose.
            (_, Ok(Some(stream))) => Ok(stream),
            (CreateStreamErrorKind::TimedOut, Err(unreachable)) => Err(unreachable),
            _ => Err(Error::refused(format!("make the stream `{name}`"))(error.into())),
        },
    }
}

/// The stream; none where nobody has shipped anything yet.
async fn open(cluster: &Cluster) -> Result<Option<Stream>, Error> {
    find(cluster, &cluster.names().stream(STREAM)).await
}
