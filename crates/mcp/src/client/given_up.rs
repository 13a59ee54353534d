//! What people read when a server could not be reached (SPEC §12).

use super::config::Kind;

/// A server that was given up.
#[derive(Clone, Debug)]
pub struct GivenUp {
    /// Its name.
    pub server: String,
    /// How it was to be reached.
    pub kind: Kind,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong the last time.
    pub reason: String,
    /// The last lines of its stderr.
    pub stderr: Vec<String>,
    /// What its settings say to look at.
    pub check: Option<String>,
}

/// What to look at where the settings say nothing.
const CHECK: &str = "is the command installed, is what it talks to running?";

/// How many tools are named before the list is cut.
const NAMED_TOOLS: usize = 3;

impl GivenUp {
    /// `Connection to stdio server 'zwave' failed`
    pub fn what_failed(&self) -> String {
        let kind = match self.kind {
            Kind::Stdio => "stdio",
            Kind::Http => "http",
            Kind::Sse => "sse",
        };
        format!("Connection to {kind} server '{}' failed", self.server)
    }

    /// What a call to the server is told.
    pub fn error(&self) -> String {
        let Self { attempts, reason, .. } = self;
        let what = self.what_failed();
        format!("MCP connection failed after {attempts} attempts: {what}: {reason}")
    }

    /// The block for people, with the tools and servers that remain.
    pub fn block(&self, local_tools: &[String], servers: &[String]) -> String {
        let Self { attempts, stderr, check, .. } = self;
        let mut lines = vec![
            format!("❌ Failed to initialize MCP tools after {attempts} attempts"),
            format!("   Reason: {}", self.what_failed()),
        ];
        if self.kind == Kind::Stdio {
            let stderr =
                if stderr.is_empty() { "(nothing)".to_owned() } else { stderr.join(" | ") };
            lines.push(format!("   MCP Server stderr: {stderr}"));
        }
        lines.push(format!("   Check: {}", check.as_deref().unwrap_or(CHECK)));
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

    fn given_up(kind: Kind, check: Option<&str>) -> GivenUp {
        GivenUp {
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
        let block = given_up(Kind::Stdio, Some("MQTT broker running")).block(&tools, &[]);
        let expected = "❌ Failed to initialize MCP tools after 3 attempts
   Reason: Connection to stdio server 'zwave' failed
   MCP Server stderr: one | two
   Check: MQTT broker running
⚠️ Continuing with local tools only (get_current_datetime, search_web, control_speaker_volume, …)";
        assert_eq!(block, expected);
        let block = given_up(Kind::Http, None).block(&tools[..1], &["time".into(), "git".into()]);
        let expected = "❌ Failed to initialize MCP tools after 3 attempts
   Reason: Connection to http server 'zwave' failed
   Check: is the command installed, is what it talks to running?
⚠️ Continuing with local tools (get_current_datetime) and servers: time, git";
        assert_eq!(block, expected);
    }
}
