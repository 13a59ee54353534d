//! Checks whether the NATS servers of `[cluster]` can be used, and which streams and workers they have.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use anyhow::anyhow;
use futures_util::StreamExt;
use switchboard_cluster::{figures, streams};
use switchboard_workers::{Bucket, Cluster, Error, nats::NatsTransport, offer::Presence};
use tokio::time::{Instant, timeout};

use super::{CheckStatus, DoctorCheck};
use crate::{connections::Connections, settings::LoadedConfig};

/// How long servers may take to accept the connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long they may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// The oldest servers that can do what we ask for.
const OLDEST: (i64, i64) = (2, 10);
/// How often a round trip is tried.
const TRIPS: usize = 5;
/// How far clocks may differ before that is reported.
const SKEW: Duration = Duration::from_secs(2);
/// Streams that are made when they are first needed, beside the buckets and the streams of queued calls.
const STREAMS: [&str; 2] = ["records", "dead"];

/// Runs all checks; those that depend on a failed one are left out.
pub(super) async fn probe(loaded: &LoadedConfig, connections: &Connections) -> Vec<DoctorCheck> {
    let Some(cluster) = connections.shipper().cluster() else { return Vec::new() };
    if let Err(error) = cluster.reached(PATIENCE).await {
        return vec![broken("cluster", format!("{:#}", anyhow!(error)))];
    }
    let nats = match cluster.nats() {
        Ok(nats) => nats,
        Err(error) => return vec![refused("cluster", error)],
    };
    let server = server(cluster, nats, loaded);
    if server.status == CheckStatus::Broken {
        return vec![server];
    }
    let mut checks = vec![server];
    match own_subjects(cluster).await {
        Ok(took) => checks.push(check("cluster subjects", CheckStatus::Ok, took)),
        Err(problem) => checks.push(broken("cluster subjects", problem)),
    }
    match jetstream(cluster, nats).await {
        Ok(said) => checks.push(check("cluster jetstream", CheckStatus::Ok, said)),
        Err(problem) => {
            checks.push(broken("cluster jetstream", problem));
            return checks;
        }
    }
    checks.push(key(cluster));
    checks.extend(check_replicas(cluster).await);
    checks.extend(workers(cluster).await);
    checks.extend(dead_letters(cluster).await);
    checks.extend(clocks(cluster, nats).await);
    checks
}

fn check(name: &'static str, status: CheckStatus, message: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(name, status, message)
}

fn broken(name: &'static str, message: impl Into<String>) -> DoctorCheck {
    check(name, CheckStatus::Broken, message)
}

fn refused(name: &'static str, error: Error) -> DoctorCheck {
    broken(name, format!("{:#}", anyhow!(error)))
}

/// Which server it is, who we are to it, and whether it is new enough.
fn server(cluster: &Cluster, nats: &NatsTransport, loaded: &LoadedConfig) -> DoctorCheck {
    let info = nats.client().server_info();
    let (address, version) = (cluster.address(), &info.version);
    let (major, minor) = OLDEST;
    if !nats.client().is_server_compatible(major, minor, 0) {
        let message = format!(
            "NATS {version} at {address} is too old: {major}.{minor} is the oldest that can be used; \
             install a newer nats-server (https://nats.io/download)"
        );
        return broken("cluster", message);
    }
    let config = &loaded.settings.cluster;
    let who = match config {
        config if config.credentials.is_some() => "with credentials".to_owned(),
        config if config.nkey.is_some() => "with an nkey".to_owned(),
        config if config.token.is_some() => "with a token".to_owned(),
        config if config.user.is_some() => {
            format!("as user `{}`", config.user.as_deref().unwrap_or_default())
        }
        config if config.certificate.is_some() => "with a certificate".to_owned(),
        _ if config.nats.as_deref().is_some_and(|nats| nats.contains('@')) => {
            "as the address says".to_owned()
        }
        _ => "without credentials".to_owned(),
    };
    let prefix = cluster.names().prefix();
    // An unnamed server has its id for a name, which is not shown.
    let name = Some(&info.server_name).filter(|name| name.len() < info.server_id.len());
    let name = name.map(|name| format!(" (server `{name}`)")).unwrap_or_default();
    let message = format!("NATS {version} at {address}{name} accepts us {who}; prefix `{prefix}`");
    check("cluster", CheckStatus::Ok, message)
}

/// Whether we may publish and subscribe below our prefix, and how long that takes.
async fn own_subjects(cluster: &Cluster) -> Result<String, String> {
    let prefix = cluster.names().prefix();
    let forbidden = format!(
        "what we publish below `{prefix}.` does not come back: give this user permission to publish and subscribe to \
         `{prefix}.>` and `{}.>`",
        cluster.names().inbox()
    );
    let subject = cluster.names().subject(&["doctor", &cluster.new_inbox()]);
    let mut heard =
        cluster.subscribe(subject.clone(), None).await.map_err(|error| error.to_string())?;
    let mut trips = Vec::new();
    for _ in 0..TRIPS {
        let began = Instant::now();
        let sent = cluster.publish(subject.clone(), None, "".into()).await;
        sent.map_err(|error| error.to_string())?;
        match timeout(ANSWER, heard.next()).await {
            Ok(Some(_)) => trips.push(began.elapsed()),
            _ => return Err(forbidden),
        }
    }
    trips.sort_unstable();
    let median = trips[TRIPS / 2].as_secs_f64() * 1000.0;
    Ok(format!(
        "`{prefix}.>` can be published and subscribed to; a round trip takes {median:.2} ms"
    ))
}

async fn jetstream(cluster: &Cluster, nats: &NatsTransport) -> Result<String, String> {
    let prefix = cluster.names().prefix();
    match timeout(PATIENCE, nats.jetstream().query_account()).await {
        Ok(Ok(account)) => {
            let (streams, megabytes) = (account.streams, account.storage / 1_000_000);
            Ok(format!("on: {streams} streams in this account, {megabytes} MB on disk"))
        }
        Ok(Err(error)) => Err(format!(
            "JetStream cannot be used: {error}; start the servers with `jetstream {{ store_dir: … }}`, enable it for this \
             account, and allow `$JS.API.>`"
        )),
        Err(_) => Err(format!(
            "JetStream does not answer: is it on, and may this user publish to `$JS.API.>` and subscribe to \
             `_INBOX_{prefix}.>`?"
        )),
    }
}

/// Whether messages between nodes are signed.
fn key(cluster: &Cluster) -> DoctorCheck {
    match cluster.signer().has_key() {
        true => check("cluster key", CheckStatus::Ok, "what nodes say to each other is signed"),
        false => {
            let message = "none is set: whoever can write to NATS can run workers' tools, make tokens and answer approvals; set the \
                           same `[cluster] key` on all nodes (`openssl rand -base64 32` makes one)";
            check("cluster key", CheckStatus::Info, message)
        }
    }
}

/// Whether buckets and streams exist, with as many replicas as the settings say.
async fn check_replicas(cluster: &Cluster) -> Vec<DoctorCheck> {
    let (names, asked) = (cluster.names(), cluster.replicas());
    let buckets = Bucket::ALL.into_iter().flat_map(|bucket| names.bucket_names(bucket));
    let buckets = buckets.map(|name| format!("KV_{name}"));
    let streams = STREAMS.map(|word| names.stream(word)).into_iter().chain(names.streams_of_jobs());
    let all = buckets.chain(streams).chain([format!("OBJ_{}", names.stream("large"))]);
    let (mut there, mut missing, mut checks) = (0, Vec::new(), Vec::new());
    for name in all {
        match streams::find(cluster, &name).await {
            Ok(Some(stream)) => {
                there += 1;
                let replicas = stream.cached_info().config.num_replicas;
                if replicas != asked {
                    let message = format!(
                        "`{name}` is kept on {replicas} of the servers, and `replicas` asks for {asked}: \
                         `nats stream edit {name} --replicas {asked}` changes it"
                    );
                    checks.push(check("cluster replicas", CheckStatus::Info, message));
                }
            }
            Ok(None) => missing.push(name),
            Err(error) => {
                checks.push(refused("cluster buckets", error));
                return checks;
            }
        }
    }
    let mut message = format!("{there} buckets and streams are there");
    if !missing.is_empty() {
        message = format!("{message}; made when they are first needed: {}", missing.join(", "));
    }
    checks.insert(0, check("cluster buckets", CheckStatus::Ok, message));
    checks
}

/// Lists the workers of each group; reports those of another version.
async fn workers(cluster: &Cluster) -> Vec<DoctorCheck> {
    const OURS: &str = env!("CARGO_PKG_VERSION");
    let present = match timeout(PATIENCE, figures::present(cluster)).await {
        Ok(Ok(present)) => present,
        Ok(Err(error)) => return vec![refused("cluster workers", error)],
        Err(_) => return vec![broken("cluster workers", "the servers do not say who is there")],
    };
    if present.is_empty() {
        let note = "none is there; `switchboard worker --group NAME` offers tools to the cluster";
        return vec![check("cluster workers", CheckStatus::Info, note)];
    }
    let mut groups = BTreeMap::<&str, Vec<&Presence>>::new();
    for worker in &present {
        groups.entry(&worker.group).or_default().push(worker);
    }
    let line = |(group, workers): (&str, Vec<&Presence>)| {
        let running: usize = workers.iter().map(|worker| worker.running).sum();
        let capacity: usize = workers.iter().map(|worker| worker.capacity).sum();
        let mut versions: Vec<_> = workers.iter().map(|worker| &*worker.version).collect();
        versions.sort_unstable();
        versions.dedup();
        let number = workers.len();
        let mut message = format!(
            "`{group}`: {number} there, {running} of {capacity} calls running, version {}",
            versions.join(", ")
        );
        let differ = versions.iter().any(|version| *version != OURS);
        if differ {
            message = format!("{message}; this is {OURS}: update what is older");
        }
        check("cluster workers", if differ { CheckStatus::Info } else { CheckStatus::Ok }, message)
    };
    groups.into_iter().map(line).collect()
}

/// Reports dead letters, if there are any.
async fn dead_letters(cluster: &Cluster) -> Option<DoctorCheck> {
    let jobs = cluster.jobs();
    let queues = match timeout(PATIENCE, jobs.figures()).await.ok()? {
        Ok(queues) => queues,
        Err(error) => return Some(refused("cluster queues", error)),
    };
    let dead = queues.iter().filter(|queue| queue.dead > 0);
    let dead: Vec<_> = dead.map(|queue| format!("{} of `{}`", queue.dead, queue.group)).collect();
    (!dead.is_empty()).then(|| {
        let stream = cluster.names().stream("dead");
        let message = format!(
            "dead letters: durable calls that failed permanently: {}; `nats stream view {stream}` shows them",
            dead.join(", ")
        );
        check("cluster queues", CheckStatus::Info, message)
    })
}

/// Reports how far our clock and the servers' differ, if that is more than `SKEW`.
async fn clocks(cluster: &Cluster, nats: &NatsTransport) -> Option<DoctorCheck> {
    #[derive(serde::Deserialize)]
    struct ServerTime {
        ts: jiff::Timestamp,
    }
    let name = cluster.names().stream("records");
    let asked = format!("$JS.API.STREAM.INFO.{name}");
    let began = Instant::now();
    let answer = timeout(ANSWER, nats.client().request(asked, "".into())).await.ok()?.ok()?;
    // `None` also if the stream does not exist: the response has no time then.
    let theirs: SystemTime = serde_json::from_slice::<ServerTime>(&answer.payload).ok()?.ts.into();
    let ours = SystemTime::now() - began.elapsed() / 2;
    let apart = ours.duration_since(theirs).unwrap_or_else(|early| early.duration());
    let seconds = apart.as_secs_f64();
    (apart > SKEW).then(|| {
        let message = format!(
            "our clock and the servers' are {seconds:.1} s apart; deadlines and lists by time suffer: use NTP on all"
        );
        broken("cluster clocks", message)
    })
}
