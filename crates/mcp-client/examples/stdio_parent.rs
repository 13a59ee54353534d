//! Starts a server and waits to be killed, for tests: `stdio_parent GUARD COMMAND ARGS…`. Once the server has
//! answered, its process group is printed.

use std::{
    env,
    io::{self, Write},
    sync::Arc,
};

use switchboard_mcp_client::{Inbox, StdioConfig, StdioTransport, Transport, TransportRequest};
use switchboard_mcp_wire::IncomingMessage;
use switchboard_process::guard::ProcessGuard;

struct Nobody;

impl Inbox for Nobody {
    fn take(&self, _: IncomingMessage) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let guard = arguments.next().unwrap_or_default();
    let mut config = StdioConfig::new(arguments.next().unwrap_or_default());
    config.args = arguments.collect();
    config.guard = Some(ProcessGuard { program: guard.into(), args: Vec::new() });
    let transport =
        StdioTransport::start("child", &config, Arc::new(Nobody)).map_err(io::Error::other)?;
    let request = TransportRequest::new(1, "initialize", None);
    // A server that stays silent is started nevertheless.
    let answer = transport.request(request);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), answer).await;
    // The guard may tell it later than the server answers.
    let group = loop {
        match transport.process_group() {
            Some(group) => break group,
            None => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    };
    writeln!(io::stdout(), "{group}")?;
    std::future::pending().await
}
