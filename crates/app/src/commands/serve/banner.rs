//! The text that is printed once the gateway listens: its addresses, how to connect, what is missing.

use std::{fs, net::SocketAddr};

use serde_json::{Value, json};
use switchboard_gateway::Config;

use super::reachable;
use crate::{assembly::App, commands::connect::stdio_command, settings::LoadedConfig};

/// What a client of the network puts into its config: the gateway knows only the hashes of its tokens.
const PLACEHOLDER: &str = "Bearer TOKEN";

/// Returns the addresses, how clients connect, and what does not work yet.
pub(super) fn text(address: SocketAddr, app: &App, loaded: &LoadedConfig) -> String {
    let tools = app.executor.tools().listed().len();
    let servers = loaded.enabled_servers().filter(|(_, config)| config.skipped.is_none()).count();
    let connecting = match servers {
        0 => String::new(),
        1 => " and connects to 1 server".to_owned(),
        many => format!(" and connects to {many} servers"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let config = loaded.file.as_ref().map(|file| {
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
        file.display().to_string()
    });
    let (command, args) = stdio_command(loaded);
    let stdio = json!({"command": command, "args": args});
    let entrances = Entrances::new(address, &loaded.settings.serve);
    format!(
        "Switchboard {version} serves {tools} tools{connecting}\n\n{}\nConnect\n{}",
        entrances.addresses(config.as_deref()),
        entrances.clients(&stdio)
    )
}

/// Where the gateway can be reached, and what it asks of clients.
struct Entrances {
    /// The address for programs of this machine, without a slash at the end.
    url: String,
    /// The address for other machines; `None` if they cannot reach the gateway.
    elsewhere: Option<String>,
    /// Whether requests need a token.
    demands_token: bool,
}

impl Entrances {
    fn new(address: SocketAddr, config: &Config) -> Self {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let port = address.port();
        let elsewhere = || match config.hosts.first() {
            Some(host) if host.contains(':') => format!("{scheme}://{host}/"),
            Some(host) => format!("{scheme}://{host}:{port}/"),
            None => format!(
                "{scheme}://ADDRESS:{port}/, where ADDRESS is one of this machine's, or a name of `[serve] hosts`"
            ),
        };
        let public =
            config.public_url.as_ref().map(|url| format!("{}/", url.trim_end_matches('/')));
        Self {
            url: format!("{scheme}://{}", reachable(address)),
            elsewhere: public.or_else(|| address.ip().is_unspecified().then(elsewhere)),
            demands_token: config.require_token || !address.ip().is_loopback(),
        }
    }

    fn addresses(&self, config: Option<&str>) -> String {
        let url = &self.url;
        let config = config.unwrap_or(
            "none, so built-in tools only; a switchboard.toml adds servers and tools of your own",
        );
        let elsewhere = self.elsewhere.as_ref().map(|it| format!("  elsewhere     {it}\n"));
        let elsewhere = elsewhere.unwrap_or_default();
        format!(
            "  config        {config}
  console       {url}/
{elsewhere}  MCP clients   {url}/mcp
  programs      {url}/api/tools, described in {url}/openapi.json
  chat clients  {url}/v1
  live events   {url}/api/events
  metrics       {url}/metrics, health: /healthz and /readyz
"
        )
    }

    /// Returns what clients write into their configs.
    fn clients(&self, stdio: &Value) -> String {
        let mcp = format!("{}/mcp", self.url);
        let mut cursor = json!({"url": mcp});
        let mut vs_code = json!({"type": "http", "url": mcp});
        let mut curl = String::new();
        let mut token = "";
        if self.demands_token {
            let headers = json!({"Authorization": PLACEHOLDER});
            cursor["headers"] = headers.clone();
            vs_code["headers"] = headers;
            curl = format!(" -H 'Authorization: {PLACEHOLDER}'");
            token = "  TOKEN            switchboard token new --name NAME prints one, for each client its own
                   switchboard token new --name me --admin --approve --watch: one for the console
";
        }
        let claude = json!({"mcpServers": {"switchboard": stdio}});
        let cursor = json!({"mcpServers": {"switchboard": cursor}});
        let vs_code = json!({"servers": {"switchboard": vs_code}});
        let url = &self.url;
        format!(
            "{token}  Claude Desktop   {claude}
  Cursor           {cursor}
  VS Code          {vs_code}
  others           switchboard connect claude-code|codex|gemini|zed|windsurf writes their configs
  curl             curl{curl} {url}/api/tools/math_eval/call -d '{{\"expression\":\"2+2\"}}'
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrances(listen: &str, config: &Config) -> Entrances {
        Entrances::new(listen.parse().unwrap(), config)
    }

    fn render(listen: &str, config: &Config) -> String {
        let entrances = entrances(listen, config);
        let stdio = json!({"command": "switchboard", "args": ["serve", "--stdio"]});
        format!("{}{}", entrances.addresses(Some("/a/switchboard.toml")), entrances.clients(&stdio))
    }

    // GW-2
    #[test]
    fn who_needs_a_token_is_told_how_to_make_one() {
        let plain = Config::default();
        let local = render("127.0.0.1:7300", &plain);
        assert!(local.contains("/a/switchboard.toml") && !local.contains("TOKEN"), "{local}");
        assert!(!local.contains("elsewhere"), "{local}");
        let demanding = Config { require_token: true, ..Config::default() };
        for (listen, config) in
            [("127.0.0.1:7300", &demanding), ("0.0.0.0:7300", &plain), ("[::]:7300", &plain)]
        {
            let shown = render(listen, config);
            assert!(shown.contains("switchboard token new --name NAME"), "{shown}");
            let lines = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
            for client in ["Cursor", "VS Code", "  curl "] {
                assert!(lines(client).contains("Bearer TOKEN"), "{shown}");
            }
        }
    }

    // GW-1
    #[test]
    fn every_address_is_one_that_can_be_connected_to() {
        let plain = Config::default();
        for (listen, own) in [
            ("0.0.0.0:7300", "http://127.0.0.1:7300/mcp"),
            ("[::]:7300", "http://[::1]:7300/mcp"),
            ("192.168.1.5:80", "http://192.168.1.5:80/mcp"),
        ] {
            let shown = render(listen, &plain);
            assert!(shown.contains(own), "{shown}");
            assert!(!shown.contains("0.0.0.0") && !shown.contains("[::]"), "{shown}");
        }
        let elsewhere = |config: &Config| entrances("0.0.0.0:7300", config).elsewhere.unwrap();
        assert!(elsewhere(&plain).starts_with("http://ADDRESS:7300/, where ADDRESS is one of"));
        let named = Config { hosts: vec!["tools.lan".to_owned()], ..Config::default() };
        assert_eq!(elsewhere(&named), "http://tools.lan:7300/");
        let public = Config { public_url: Some("https://a.example/".to_owned()), ..named };
        assert_eq!(elsewhere(&public), "https://a.example/");
    }
}
