//! How a server's program is confined, and what it was refused (SPEC SB-1, SB-2).

use serde::Serialize;
use switchboard_mcp_client::Server;
use switchboard_runtime::redact;
use switchboard_toolcall::text::one_line;
use utoipa::ToSchema;

/// How a server's program is confined.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownSandbox {
    /// `on`, `try`, or `learn`: watched, not confined.
    mode: &'static str,
    /// What it was refused since it was started, and would still be refused.
    refused: Vec<SandboxRefusalEntry>,
}

/// Something that a program was refused.
#[derive(Serialize, ToSchema)]
struct SandboxRefusalEntry {
    /// The path or `host:port`.
    what: String,
    /// What would allow it, such as `to allow it: sandbox_allow.read += "/srv/a"`.
    remedy: String,
}

impl ShownSandbox {
    /// Returns `None` if its program is not confined, or it has none.
    pub(super) fn of(server: &Server) -> Option<Self> {
        let config = server.config().sandbox();
        if config.mode.is_off() {
            return None;
        }
        let refused = server.open_sandbox().map(|sandbox| sandbox.refused()).unwrap_or_default();
        let refused = refused.into_iter().filter(|refusal| !config.allow.has(refusal));
        let shown = |text: &str| one_line(&redact::text(text));
        Some(Self {
            mode: config.mode.name(),
            refused: refused
                .map(|refusal| SandboxRefusalEntry {
                    what: shown(refusal.what()),
                    remedy: shown(&refusal.remedy()),
                })
                .collect(),
        })
    }
}
