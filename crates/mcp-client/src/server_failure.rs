//! What people read when a server could not be reached (SPEC §12).

use super::config::TransportKind;

/// A server that could not be reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerFailure {
    /// Its name.
    pub server: String,
    /// The transport.
    pub kind: TransportKind,
    /// How many attempts were made.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub reason: String,
    /// The last lines of its stderr.
    pub stderr: Vec<String>,
    /// The `check` of its settings.
    pub check: Option<String>,
}

/// The hint if the settings have no `check`.
const CHECK: &str = "is the command installed, is what it talks to running?";

/// The same for a server that we do not start.
const CHECK_URL: &str = "is the server running, and is its url right?";

/// How many tools are named before the list is cut.
const NAMED_TOOLS: usize = 3;

impl ServerFailure {
    /// `Connection to stdio server 'zwave' failed`
    pub fn what_failed(&self) -> String {
        let kind = match self.kind {
            TransportKind::Stdio => "stdio",
            TransportKind::Http => "http",
            TransportKind::Sse => "sse",
        };
        format!("Connection to {kind} server '{}' failed", self.server)
    }

    /// Returns the text for the log, and for calls to the server.
    pub fn error(&self) -> String {
        format!("MCP connection failed after {}: {}", self.tries(), self.full_reason())
    }

    /// `Connection to stdio server 'zwave' failed: the server exited with status 1`
    fn full_reason(&self) -> String {
        format!("{}: {}", self.what_failed(), self.reason)
    }

    /// `3 attempts`
    fn tries(&self) -> String {
        match self.attempts {
            1 => "1 attempt".to_owned(),
            many => format!("{many} attempts"),
        }
    }

    /// Returns the block for people, with the tools and servers that remain.
    pub fn block(&self, local_tools: &[String], servers: &[String]) -> String {
        let Self { stderr, check, .. } = self;
        let mut lines = vec![
            format!("❌ Failed to initialize MCP tools after {}", self.tries()),
            format!("   Reason: {}", self.full_reason()),
        ];
        if self.kind == TransportKind::Stdio {
            let stderr =
                if stderr.is_empty() { "(nothing)".to_owned() } else { stderr.join(" | ") };
            lines.push(format!("   MCP Server stderr: {stderr}"));
        }
        let usual = if self.kind == TransportKind::Stdio { CHECK } else { CHECK_URL };
        lines.push(format!("   Check: {}", check.as_deref().unwrap_or(usual)));
        let mut tools = local_tools.iter().take(NAMED_TOOLS).cloned().collect::<Vec<_>>();
        if local_tools.len() > NAMED_TOOLS {
            tools.push("…".to_owned());
        }
        let tools = tools.join(", ");
        lines.push(match servers.is_empty() {
            true => format!("⚠️ Continuing with local tools only ({tools})"),
            false => {
                let servers = servers.join(", ");
                format!("⚠️ Continuing with local tools ({tools}) and servers: {servers}")
            }
        });
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: TransportKind, check: Option<&str>) -> ServerFailure {
        ServerFailure {
            server: "zwave".to_owned(),
            kind,
            attempts: 3,
            reason: "the server exited with status 1".to_owned(),
            stderr: vec!["one".to_owned(), "two".to_owned()],
            check: check.map(str::to_owned),
        }
    }

    // MC-2
    #[test]
    fn the_block_is_the_contracts_to_the_letter() {
        let tools = ["get_current_datetime", "search_web", "control_speaker_volume", "echo"];
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let block = failure(TransportKind::Stdio, Some("MQTT broker running")).block(&tools, &[]);
        let expected = "❌ Failed to initialize MCP tools after 3 attempts
   Reason: Connection to stdio server 'zwave' failed: the server exited with status 1
   MCP Server stderr: one | two
   Check: MQTT broker running
⚠️ Continuing with local tools only (get_current_datetime, search_web, control_speaker_volume, …)";
        assert_eq!(block, expected);
        let refused = ServerFailure {
            reason: "connection refused".to_owned(),
            attempts: 1,
            ..failure(TransportKind::Http, None)
        };
        let block = refused.block(&tools[..1], &["time".into(), "git".into()]);
        let expected = "❌ Failed to initialize MCP tools after 1 attempt
   Reason: Connection to http server 'zwave' failed: connection refused
   Check: is the server running, and is its url right?
⚠️ Continuing with local tools (get_current_datetime) and servers: time, git";
        assert_eq!(block, expected);
        let expected = "MCP connection failed after 1 attempt: Connection to http server 'zwave' failed: connection refused";
        assert_eq!(refused.error(), expected);
        let silent = ServerFailure { stderr: Vec::new(), ..failure(TransportKind::Stdio, None) };
        let lines = "\n   MCP Server stderr: (nothing)\n   Check: is the command installed, is what it talks to running?\n";
        assert!(silent.block(&tools, &[]).contains(lines));
    }
}
