//! The example of docs/three-nodes.md, started as it stands there: only hosts, ports, folders and passwords are other ones.

use std::{fs, path::Path, process::Command};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use switchboard_testkit::Nats;

use crate::serving::{free_port, part, switchboard, wait_for};

const MANUAL: &str = include_str!("../../../../docs/three-nodes.md");

/// The blocks of the manual in that language.
fn blocks(language: &str) -> Vec<&'static str> {
    let blocks = MANUAL.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(name, _)| *name == language).map(|(_, text)| text).collect()
}

/// The three nodes on this machine.
struct ThreeNodes {
    folder: tempfile::TempDir,
    ports: [u16; 3],
}

impl ThreeNodes {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        Self { folder, ports: [free_port(), free_port(), free_port()] }
    }

    /// The servers, each with the manual's config.
    fn servers(&self) -> Vec<Nats> {
        let [config] = blocks("conf")[..] else { panic!("the manual has one config for NATS") };
        let routes = [free_port(), free_port(), free_port()];
        let parts = part("nats").parent().unwrap().to_owned();
        let mut servers = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            let number = index + 1;
            let own = self.folder.path().join(format!("nats-{number}"));
            let mut config = config
                .replace("server_name: nats-1", &format!("server_name: nats-{number}"))
                .replace("0.0.0.0:4222", &format!("127.0.0.1:{}", self.ports[index]))
                .replace("0.0.0.0:6222", &format!("127.0.0.1:{route}"))
                .replace("127.0.0.1:8222", &format!("127.0.0.1:{}", free_port()))
                .replace("/var/lib/nats", own.to_str().unwrap())
                .replace("/etc/nats", self.folder.path().to_str().unwrap());
            for (other, route) in routes.iter().enumerate() {
                let host = format!("nats-{}.example.com:6222", other + 1);
                config = config.replace(&host, &format!("127.0.0.1:{route}"));
            }
            for who in ["GATEWAY", "WORKER", "ADMIN"] {
                config = config.replace(&format!("${who}_PASSWORD"), &who.to_lowercase());
            }
            let file = self.folder.path().join(format!("nats-{number}.conf"));
            fs::write(&file, config).unwrap();
            servers.push(Nats::configured(&parts, &file, self.ports[index]));
        }
        servers
    }

    /// A config of the manual, and a command with it.
    fn command(&self, config: &str, words: &[&str]) -> Command {
        let mut config = config.replace("/etc/nats", self.folder.path().to_str().unwrap());
        for (index, port) in self.ports.iter().enumerate() {
            let host = format!("nats-{}.example.com:4222", index + 1);
            config = config.replace(&host, &format!("127.0.0.1:{port}"));
        }
        fs::write(self.folder.path().join("switchboard.toml"), config).unwrap();
        let mut command = switchboard(self.folder.path(), words);
        command.env("GATEWAY_PASSWORD", "gateway").env("WORKER_PASSWORD", "worker");
        command.env("SWITCHBOARD_CLUSTER_KEY", "QxQvJ0mDk1gT7n0c3b1w5y8u2r4e6t9o0p1a3s5d7f9=");
        command
    }

    /// What a command prints as JSON, and whether it succeeded.
    fn asked(&self, config: &str, words: &[&str]) -> (Value, bool) {
        let output = self.command(config, words).output().unwrap();
        let printed = serde_json::from_slice(&output.stdout);
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        (printed.unwrap_or_else(|_| panic!("{}", said())), output.status.success())
    }
}

/// `ca.pem`, and what it has signed for this machine: `certificate.pem` with `key.pem`.
fn certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let signed = params.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("certificate.pem"), signed.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

// RC-2
#[test]
fn the_example_of_the_manual_runs() {
    let here = ThreeNodes::new();
    let mut servers = here.servers();
    let configs = blocks("toml");
    assert_eq!(configs.len(), 2);
    for config in &configs {
        // The servers take a while to find each other.
        let checks = wait_for("doctor finds the cluster well", || {
            let (found, _) = here.asked(config, &["doctor", "--json"]);
            let checks = found["checks"].as_array().unwrap().clone();
            let is_of_it = |check: &&Value| check["name"].as_str().unwrap().starts_with("cluster");
            let checks: Vec<_> = checks.iter().filter(is_of_it).cloned().collect();
            let is_well =
                checks.len() >= 4 && checks.iter().all(|check| check["status"] != "broken");
            is_well.then_some(checks)
        });
        let first = checks[0]["message"].as_str().unwrap();
        assert!(first.contains("accepts us as user `"), "{first}");
    }
    let listed = |expected: usize| {
        let words = ["calls", "--cluster", "--json"];
        wait_for("the calls of the cluster", || {
            // A call whose records were left in the journal is shipped with the next one.
            let (list, _) = here.asked(configs[0], &words);
            (list.as_array().map(Vec::len) >= Some(expected)).then_some(())
        });
    };
    assert!(here.asked(configs[0], &["call", "echo", "--json"]).1);
    wait_for("the first call is shipped", || {
        here.asked(configs[0], &["call", "echo", "--json"]);
        let (list, _) = here.asked(configs[0], &["calls", "--cluster", "--json"]);
        list.as_array().is_some_and(|list| !list.is_empty()).then_some(())
    });
    listed(1);
    // One of three may be missed.
    servers[0].kill();
    assert!(here.asked(configs[1], &["call", "resize", "url=x", "--json"]).1);
    wait_for("a call is shipped without the first server", || {
        here.asked(configs[1], &["call", "resize", "url=x", "--json"]);
        let output = here.command(configs[0], &["calls", "--cluster", "--json"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).contains("\"resize\"").then_some(())
    });
}
