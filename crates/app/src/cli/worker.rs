//! Arguments of `switchboard worker`.

use clap::Args;
use switchboard_workers::{Config, WorkerConfig};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard worker --nats nats://nas:4222 --group gpu
  switchboard worker --group gpu --concurrency 1     one call at a time
  switchboard worker --group calc --tools math_eval  a built-in tool

Gateways whose config has [cluster] nats list the tools as gpu__NAME. Offered are the tools of [[tools]] and of \
[servers.*]; --tools chooses among these and the built-in ones. What is not given comes from [cluster] and [worker] in \
the config. SIGTERM and Ctrl-C let running calls finish. Logs go to stderr.

Exit status: 0 told to stop, 2 wrong usage or config, or nothing to offer.")]
pub(crate) struct WorkerArgs {
    /// The NATS servers, with commas between them
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,

    /// The group that the worker belongs to; workers of a group share its calls
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Option<String>,

    /// How many calls it runs at once [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<usize>,

    /// Which tools it offers; may be given several times [default: those of the config]
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,

    /// Print {worker, group, nats, tools} on one line before calls are taken
    #[arg(long)]
    pub(crate) json: bool,
}

impl WorkerArgs {
    /// The settings, with what was said here in their place.
    pub(crate) fn over(
        &self,
        mut cluster: Config,
        mut worker: WorkerConfig,
    ) -> (Config, WorkerConfig) {
        if self.nats.is_some() {
            cluster.nats.clone_from(&self.nats);
        }
        if self.group.is_some() {
            worker.group.clone_from(&self.group);
        }
        if let Some(concurrency) = self.concurrency {
            worker.concurrency = concurrency;
        }
        if !self.tools.is_empty() {
            worker.tools.clone_from(&self.tools);
        }
        (cluster, worker)
    }
}
