//! `switchboard zwave`: Z-Wave devices for one MCP client on stdin and stdout (SPEC HM-1).

use std::process::ExitCode;

use anyhow::Context;
use switchboard_mcp_server::{self as server, McpCaller};
use switchboard_runtime::ToolExecutor;

use crate::{
    cli::{Cli, ZwaveArgs},
    commands::serve::told_to_stop,
    runtime::on_runtime,
    settings,
};

/// The instructions that models get.
const INSTRUCTIONS: &str = "Z-Wave devices of a household. A device is named by its name, by Location/Name or by its id; list_devices names all.";

/// What the server calls itself.
pub(super) const SERVER_NAME: &str = "switchboard-zwave";

pub(super) fn run(zwave: &ZwaveArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load_sections(cli.config.as_deref(), &["executor", "zwave"])?;
    let config = zwave.over(loaded.settings.zwave.clone());
    on_runtime(async {
        let network = switchboard_zwave::connect(&config).context("cannot serve Z-Wave devices")?;
        // Records and policy are left to the MCP client, which is Switchboard, or has its own.
        let executor = ToolExecutor::builder().config(loaded.settings.executor.clone()).build();
        for tool in switchboard_zwave::tools(network, &config) {
            executor.tools().add_shared(tool)?;
        }
        let presented = server::Config {
            name: SERVER_NAME.to_owned(),
            title: "Switchboard Z-Wave".to_owned(),
            instructions: Some(INSTRUCTIONS.to_owned()),
            ..server::Config::default()
        };
        let server = server::Server::new(executor, None, presented);
        let stop = told_to_stop()?;
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let served = server.serve_stdio_until(input, output, McpCaller::default(), &stop).await;
        served.context("failed to serve over stdio")?;
        Ok(ExitCode::SUCCESS)
    })
}
