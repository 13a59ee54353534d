//! `switchboard cluster`: what concerns all gateways of a cluster.

use std::{process::ExitCode, time::Duration};

use anyhow::{anyhow, bail};
use switchboard_cluster::{ClusterView, Error};

use crate::{
    cli::{Cli, ClusterAction, ClusterArgs},
    cluster,
    runtime::on_runtime,
    settings,
    terminal::{self, CommandFailed},
};

/// How long NATS may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(args: &ClusterArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    match args.action {
        ClusterAction::RotateSecret { forget_old } => rotate(forget_old, cli),
    }
}

fn rotate(forget_old: bool, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load(cli.config.as_deref())?;
    let failed = |error: Error| anyhow!(CommandFailed(format!("{:#}", anyhow!(error))));
    let is_done = on_runtime(async {
        let Some(cluster) = cluster::connect(&loaded).await? else {
            bail!("there is no cluster: the config names none (`[cluster] nats = \"nats://…\"`)");
        };
        cluster.reached(PATIENCE).await.map_err(|error| failed(error.into()))?;
        ClusterView::new(&cluster).rotate_session_secret(forget_old).await.map_err(failed)
    })?;
    terminal::tell(match (is_done, forget_old) {
        (false, _) => "there is no secret yet: the first gateway that starts makes one",
        (true, false) => "the secret was replaced; sessions that are open stay valid for a day",
        (true, true) => "the secret was replaced; no gateway adopts older sessions any more",
    });
    Ok(ExitCode::SUCCESS)
}
