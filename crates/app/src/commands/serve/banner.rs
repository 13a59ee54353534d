//! What people read when the gateway listens: where it is, how to connect, what is missing.

use std::{env, net::SocketAddr};

use crate::{assembly::App, settings::Loaded};

/// The addresses, how clients connect, and what does not work yet.
pub(super) fn text(address: SocketAddr, app: &App, loaded: &Loaded) -> String {
    let url = format!("http://{address}");
    let tools = app.executor.tools().listed().len();
    let servers = loaded.enabled_servers().filter(|(_, config)| config.skipped.is_none()).count();
    let connecting = match servers {
        0 => String::new(),
        1 => " and connects to 1 server".to_owned(),
        many => format!(" and connects to {many} servers"),
    };
    let program =
        env::current_exe().map_or("switchboard".into(), |path| path.display().to_string());
    let mut text = format!(
        "Switchboard {version} serves {tools} tools{connecting}

  console       {url}/
  MCP clients   {url}/mcp
  programs      {url}/api/tools, described in {url}/openapi.json
  chat clients  {url}/v1
  live events   {url}/api/events
  metrics       {url}/metrics, health: /healthz and /readyz

Connect
  Claude Desktop   {{\"mcpServers\": {{\"switchboard\": {{\"command\": \"{program}\", \"args\": [\"serve\", \"--stdio\"]}}}}}}
  Cursor           {{\"mcpServers\": {{\"switchboard\": {{\"url\": \"{url}/mcp\"}}}}}}
  VS Code          {{\"servers\": {{\"switchboard\": {{\"type\": \"http\", \"url\": \"{url}/mcp\"}}}}}}
  curl             curl {url}/api/tools/math_eval/call -d '{{\"expression\":\"2+2\"}}'
",
        version = env!("CARGO_PKG_VERSION"),
    );
    if loaded.file.is_none() {
        text.push_str("\nNo config: built-in tools only. A switchboard.toml adds servers and tools of your own.\n");
    }
    text
}
