//! Two regions: a NATS server each, of which one is a leaf node of the other. With the configs of docs/scale.md.

use std::{fs, path::Path};

use serde_json::json;
use switchboard_runtime::DurableCalls;
use switchboard_testkit::{Fake, Nats, process::free_port};
use switchboard_toolcall::{CallContext, ToolCall};
use switchboard_workers::{Cluster, Config, JobQueue};
use tempfile::TempDir;

use crate::{
    TestServers, parts,
    shared::{
        jobs,
        nodes::{Gateway, RunningWorker, until, within},
    },
};

const PAGE: &str = include_str!("../../../../docs/scale.md");

/// The servers of two regions.
struct Regions {
    hub: Nats,
    west: Nats,
    _folder: TempDir,
}

/// Returns the config of this name from the page.
fn config(name: &str) -> &str {
    let (_, config) = PAGE.split_once(&format!("```conf\n# {name}\n")).unwrap();
    config.split_once("```").unwrap().0
}

impl Regions {
    /// The region in the west has JetStream of its own, in its own domain, or none.
    fn start(has_jetstream: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let leaves = free_port();
        let server = |name: &str, config: String| {
            let (port, own) = (free_port(), folder.path().join(name));
            fs::create_dir(&own).unwrap();
            let file = own.join("nats.conf");
            fs::write(&file, local(&config, port, leaves, &own)).unwrap();
            Nats::configured(&parts(), &file, port)
        };
        let west = config("west.conf").to_owned();
        let west = match has_jetstream {
            true => west,
            false => {
                let (before, after) = west.split_once("jetstream {").unwrap();
                format!("{before}{}", after.split_once("}\n").unwrap().1)
            }
        };
        let hub = server("hub", config("hub.conf").to_owned());
        Self { hub, west: server("west", west), _folder: folder }
    }

    async fn connect(&self, region: &Nats) -> Cluster {
        let domain = Some("hub".to_owned());
        let config = Config { nats: Some(region.url()), domain, ..Config::default() };
        Cluster::connect(&config).await.unwrap()
    }

    /// A worker of `gpu` that says in which region it is.
    async fn worker(&self, region: &Nats, name: &str) -> RunningWorker {
        let tool = Fake::answers("where", json!(name)).read_only();
        TestServers::worker_at(self.connect(region).await, "gpu", 4, vec![tool])
    }

    async fn gateway(&self, region: &Nats) -> Gateway {
        let gateway = Gateway::start(self.connect(region).await).await;
        gateway.lists("gpu__where").await;
        gateway
    }
}

/// Returns the config for this machine.
fn local(config: &str, port: u16, leaves: u16, folder: &Path) -> String {
    config
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{port}"))
        .replace("0.0.0.0:7422", &format!("127.0.0.1:{leaves}"))
        .replace("hub.example.com:7422", &format!("127.0.0.1:{leaves}"))
        .replace("/var/lib/nats", folder.to_str().unwrap())
}

/// Submits a call, and returns what came of it.
async fn queued(gateway: &Gateway) -> String {
    let cx = CallContext::for_caller("ada");
    let call = ToolCall::new("gpu__where", serde_json::Map::new());
    let id = gateway.executor.submit(call, &cx).await.unwrap();
    let queue = JobQueue::new(gateway.groups.jobs().clone(), gateway.executor.clone());
    let ended = jobs::until("the call has ended", async || {
        queue.look(id).await.ok().flatten().filter(|call| call.state.is_over())
    });
    jobs::text(&ended.await)
}

async fn check(has_jetstream: bool) {
    let regions = Regions::start(has_jetstream);
    let west = regions.worker(&regions.west, "west").await;
    let gateways = [regions.gateway(&regions.hub).await, regions.gateway(&regions.west).await];
    for gateway in &gateways {
        assert_eq!(gateway.call("gpu__where", json!({})).await.text(), "west");
        assert_eq!(queued(gateway).await, "west");
    }
    // Calls stay in their region as long as it has workers.
    let hub = regions.worker(&regions.hub, "hub").await;
    for gateway in &gateways {
        until("both are known", || gateway.groups.workers().len() == 2).await;
    }
    let here = within("the hub's worker takes calls", async {
        while gateways[0].call("gpu__where", json!({})).await.text() != "hub" {}
    });
    here.await;
    for _ in 0..50 {
        assert_eq!(gateways[0].call("gpu__where", json!({})).await.text(), "hub");
        assert_eq!(gateways[1].call("gpu__where", json!({})).await.text(), "west");
    }
    west.stop().await;
    for gateway in &gateways {
        until("one is gone", || gateway.groups.workers().len() == 1).await;
        assert_eq!(gateway.call("gpu__where", json!({})).await.text(), "hub");
        assert_eq!(queued(gateway).await, "hub");
    }
    hub.stop().await;
    gateways[1].forgets("gpu__where").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_without_jetstream_uses_that_of_the_hub() {
    check(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_with_a_domain_of_its_own_uses_that_of_the_hub() {
    check(true).await;
}
