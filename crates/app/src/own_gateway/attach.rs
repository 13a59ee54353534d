//! Settings with which the tools of a command are those of the gateway.

use std::{env::current_exe, path::absolute, time::Duration};

use indexmap::IndexMap;
use switchboard_mcp_client::ServerConfig;
use switchboard_toolcall::{HumanDuration, HumanSize, Normalize, ProfileConfig, ToolPatterns};

use super::OwnGateway;
use crate::settings::{LoadedConfig, SkippedEntries};

/// What the gateway is called as a server of this process.
pub(crate) const SERVER_NAME: &str = "switchboard-gateway";

/// Longer than any call: the gateway has the deadline.
const NO_TIMEOUT: HumanDuration = HumanDuration(Duration::from_secs(7 * 24 * 60 * 60));

impl OwnGateway {
    /// Makes the gateway the only source of tools. It validates, decides, limits and records; this process passes calls on.
    /// Its records name the command line as the caller, unless an MCP client is served.
    ///
    /// With a profile, only its tools are there, as they look in it.
    pub(crate) fn attach(
        &self,
        loaded: &mut LoadedConfig,
        is_command_line: bool,
        profile: Option<&str>,
    ) {
        let settings = &mut loaded.settings;
        settings.tools.clear();
        let rules = profile.and_then(|name| settings.profiles.get(name));
        if let Some(pinned) = rules.and_then(pinned_in) {
            settings.agent.pinned = pinned;
        }
        if let Some(budget) = rules.and_then(|rules| rules.tool_budget) {
            settings.agent.tool_budget = budget;
        }
        // The gateway has the same config.
        let keys_kept = settings.executor.idempotency;
        let server = self.server(is_command_line, profile, keys_kept);
        settings.servers = IndexMap::from([(SERVER_NAME.to_owned(), server)]);
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
        loaded.skipped = SkippedEntries::default();
        loaded.is_attached = true;
    }

    /// Adds the program that may be used in place of the gateway while that is away: this one, alone.
    pub(crate) fn add_fallback(loaded: &mut LoadedConfig, profile: Option<&str>) {
        let Some(server) = loaded.settings.servers.get_mut(SERVER_NAME) else { return };
        let file = loaded.file.as_ref().map(|file| absolute(file).unwrap_or_else(|_| file.clone()));
        let file = file.map(|file| file.display().to_string());
        let config = file.iter().flat_map(|file| ["--config", file]);
        let profile = profile.iter().flat_map(|profile| ["--profile", profile]);
        let words = config.chain(["--alone", "serve", "--stdio", "--await-servers"]).chain(profile);
        server.args = words.map(str::to_owned).collect();
        server.command = Some(this_program());
        server.inherit_env = true;
        // It waits for its own servers first.
        let wait = loaded.settings.mcp.startup_wait.0 + loaded.settings.mcp.connect_timeout.0;
        server.connect_timeout = Some(HumanDuration(wait));
    }

    fn server(
        &self,
        is_command_line: bool,
        profile: Option<&str>,
        keys_kept: HumanDuration,
    ) -> ServerConfig {
        let profile = profile.map(|name| format!("/{name}")).unwrap_or_default();
        // An MCP client lists what the gateway or the profile says; models get all tools, and search among them, also if the
        // profile does not have `tool_search`.
        let listed = if is_command_line { "?tools=list-and-search" } else { "" };
        let url = format!("http://localhost/mcp{profile}{listed}");
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
            keys_kept: Some(keys_kept),
            ..ServerConfig::default()
        }
    }
}

/// Returns the path of this program; on Linux one that is this program even after an upgrade has replaced its file.
fn this_program() -> String {
    let path = || current_exe().map(|program| program.display().to_string());
    match cfg!(target_os = "linux") {
        true => "/proc/self/exe".to_owned(),
        false => path().unwrap_or_else(|_| "switchboard".to_owned()),
    }
}

/// Returns the globs of the tools that a profile pins, by the names that the gateway shows; `None` if it pins none.
fn pinned_in(profile: &ProfileConfig) -> Option<ToolPatterns> {
    let pinned = ToolPatterns::new(&profile.pinned).ok().filter(|pinned| !pinned.is_empty())?;
    let renamed = profile.tool.iter().filter(|(name, _)| pinned.matches(name));
    let renamed = renamed.filter_map(|(_, change)| change.name.clone());
    let globs: Vec<_> = profile.pinned.iter().cloned().chain(renamed).collect();
    ToolPatterns::new(&globs).ok()
}
