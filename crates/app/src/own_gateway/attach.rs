//! Settings with which the tools of a command are those of the gateway.

use std::time::Duration;

use indexmap::IndexMap;
use switchboard_mcp_client::ServerConfig;
use switchboard_toolcall::{HumanDuration, HumanSize, Normalize};

use super::OwnGateway;
use crate::settings::{Loaded, Skipped};

/// What the gateway is called as a server of this process.
const NAME: &str = "switchboard-gateway";

/// Longer than any call: the gateway has the deadline.
const NO_TIMEOUT: HumanDuration = HumanDuration(Duration::from_secs(7 * 24 * 60 * 60));

impl OwnGateway {
    /// Makes the gateway the only source of tools. It validates, decides, limits and records; this process passes calls on.
    /// Its records name the command line as the caller, unless an MCP client is served.
    ///
    /// With a profile, only its tools are there, as they look in it.
    pub(crate) fn attach(&self, loaded: &mut Loaded, is_command_line: bool, profile: Option<&str>) {
        let settings = &mut loaded.settings;
        settings.tools.clear();
        settings.servers =
            IndexMap::from([(NAME.to_owned(), self.server(is_command_line, profile))]);
        settings.policy = Default::default();
        loaded.attached_audit = Some(settings.audit.clone());
        settings.audit.enabled = false;
        settings.cluster = Default::default();
        settings.serve.allow_if.clear();
        settings.serve.deny_if.clear();
        settings.executor.timeout = NO_TIMEOUT;
        settings.executor.slow_call = NO_TIMEOUT;
        settings.executor.max_output = HumanSize(u64::MAX);
        settings.executor.share_reads = false;
        loaded.skipped = Skipped::default();
        loaded.is_attached = true;
    }

    fn server(&self, is_command_line: bool, profile: Option<&str>) -> ServerConfig {
        let url = match profile {
            // A client of a profile lists what the profile says; models and commands get all of it.
            Some(name) if !is_command_line => format!("http://localhost/mcp/{name}"),
            Some(name) => format!("http://localhost/mcp/{name}?tools=list"),
            None => "http://localhost/mcp".to_owned(),
        };
        let headers =
            is_command_line.then(Self::caller).map(|(name, value)| (name.to_owned(), value));
        ServerConfig {
            url: Some(url),
            socket: Some(self.socket.clone()),
            headers: headers.into_iter().collect(),
            prefix: Some(String::new()),
            validate: Some(false),
            normalize: Normalize::Never,
            max_concurrent: Some(1024),
            // It takes the key of a call for an idempotency key.
            honours_keys: true,
            ..ServerConfig::default()
        }
    }
}
