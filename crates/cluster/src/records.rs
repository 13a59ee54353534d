//! The call records of all nodes, in one stream.
//!
//! Each node ships its journal to the stream ([`RecordStream`]); every node can read it ([`Records`]). There is a message
//! when a call begins and one when it ends, and the latter includes the former: so the stream can be read from its end.
//! Duplicates are the same call at the same stage, and count once.
//!
//! Figures are not read from the stream: each node that ships sums its own calls when it is asked to ([`Records::figures`]).

mod answers;
mod each;
mod figures;
mod follow;
mod list;
mod nodes;
mod shared;
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

pub use follow::ClusterFollower;
pub use list::{ReadProgress, Records};
pub use shared::CallerRecords;
pub use ship::RecordStream;

/// The suffix of the stream's name, and a token of its subjects.
const STREAM: &str = "records";

/// Returns the subject for a node's calls at this stage.
fn subject(cluster: &Cluster, node: &str, stage: CallStage) -> String {
    cluster.names().subject(&["record", node, stage.as_str()])
}

/// Returns the subject for all nodes' calls at this stage.
fn subjects(cluster: &Cluster, stage: CallStage) -> String {
    format!("{}.*.{}", cluster.names().subject(&["record"]), stage.as_str())
}

/// Returns the subjects of these nodes' calls at all stages.
fn subjects_of(cluster: &Cluster, nodes: &[String]) -> Vec<String> {
    let subject = |node: &String| format!("{}.*", cluster.names().subject(&["record", node]));
    nodes.iter().map(subject).collect()
}

/// Returns the subject of questions to a node about its figures.
fn figures_subject(cluster: &Cluster, node: &str) -> String {
    cluster.names().subject(&["figures", node])
}

/// Returns the stream; creates it if it does not exist.
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
            // It exists with other settings, which somebody chose.
            (_, Ok(Some(stream))) => Ok(stream),
            (CreateStreamErrorKind::TimedOut, Err(unreachable)) => Err(unreachable),
            _ => Err(Error::refused(format!("make the stream `{name}`"))(error.into())),
        },
    }
}

/// Returns the stream; `None` if no node has shipped anything yet.
async fn open(cluster: &Cluster) -> Result<Option<Stream>, Error> {
    find(cluster, &cluster.names().stream(STREAM)).await
}
