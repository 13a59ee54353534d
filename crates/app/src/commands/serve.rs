//! `switchboard serve`: says what is coming, until the gateway is here.

use std::process::ExitCode;

use crate::terminal;

const COMING: &str = "\
switchboard serve is not here yet. It comes with a later version, and will offer your tools to MCP clients,
to programs over REST and to chat clients, on 127.0.0.1:7300.

What works now:
  switchboard tools                        list the tools
  switchboard call echo message=hello      call one
  switchboard doctor                       check the config and what the tools need
";

pub(super) fn run() -> ExitCode {
    terminal::tell(COMING);
    ExitCode::FAILURE
}
