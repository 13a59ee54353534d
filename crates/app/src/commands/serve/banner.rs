//! The text that is printed once the gateway listens: its addresses, how to connect, what is missing.

use std::net::SocketAddr;

use serde_json::json;

use crate::{assembly::App, commands::connect::stdio_command, settings::LoadedConfig};

/// The addresses, how clients connect, and what does not work yet.
pub(super) fn text(address: SocketAddr, app: &App, loaded: &LoadedConfig) -> String {
    let url = format!("http://{address}");
    let tools = app.executor.tools().listed().len();
    let servers = loaded.enabled_servers().filter(|(_, config)| config.skipped.is_none()).count();
    let connecting = match servers {
        0 => String::new(),
        1 => " and connects to 1 server".to_owned(),
        many => format!(" and connects to {many} servers"),
    };
    let (command, args) = stdio_command(loaded);
    let entry = json!({"command": command, "args": args});
    // Placeholder: the gateway knows only the hashes of its tokens.
    let (headers, flag) = match loaded.settings.serve.require_token {
        true => (
            ", \"headers\": {\"Authorization\": \"Bearer TOKEN\"}",
            " -H 'Authorization: Bearer TOKEN'",
        ),
        false => ("", ""),
    };
    let mut text = format!(
        "Switchboard {version} serves {tools} tools{connecting}

  console       {url}/
  MCP clients   {url}/mcp
  programs      {url}/api/tools, described in {url}/openapi.json
  chat clients  {url}/v1
  live events   {url}/api/events
  metrics       {url}/metrics, health: /healthz and /readyz

Connect
  Claude Desktop   {{\"mcpServers\": {{\"switchboard\": {entry}}}}}
  Cursor           {{\"mcpServers\": {{\"switchboard\": {{\"url\": \"{url}/mcp\"{headers}}}}}}}
  VS Code          {{\"servers\": {{\"switchboard\": {{\"type\": \"http\", \"url\": \"{url}/mcp\"{headers}}}}}}}
  others           switchboard connect claude-code|codex|gemini|zed|windsurf writes their configs
  curl             curl{flag} {url}/api/tools/math_eval/call -d '{{\"expression\":\"2+2\"}}'
",
        version = env!("CARGO_PKG_VERSION"),
    );
    if loaded.file.is_none() {
        text.push_str("\nNo config: built-in tools only. A switchboard.toml adds servers and tools of your own.\n");
    }
    text
}
