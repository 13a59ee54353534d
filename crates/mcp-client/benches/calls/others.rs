//! The clients of others, which run as a program of their own.

use serde_json::Value;
use tokio::process::Command;

use crate::{
    CALLS,
    fixture::{Fixture, Way, program},
};

/// The median of a round of raw JSON-RPC, in microseconds.
pub(crate) async fn raw(fixture: &Fixture) -> f64 {
    match fixture.way {
        Way::Stdio => run(fixture, "stdio").await,
        Way::Http => run(fixture, "http").await,
    }
}

/// The median of a round of rmcp's client, in microseconds.
pub(crate) async fn rmcp(fixture: &Fixture) -> f64 {
    match fixture.way {
        Way::Stdio => run(fixture, "rmcp-stdio").await,
        Way::Http => run(fixture, "rmcp-http").await,
    }
}

async fn run(fixture: &Fixture, mode: &str) -> f64 {
    let mut command = Command::new(program("loadgen"));
    command.args([mode, "--arg-bytes", "200", "--warm", "0.1", "--calls", &CALLS.to_string()]);
    match fixture.way {
        Way::Http => command.args(["--url", &fixture.url()]),
        Way::Stdio => command.arg("--").args(fixture.command()),
    };
    let output = command.output().await.unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["errors"], 0, "{told}");
    told["p50_us"].as_f64().unwrap()
}
