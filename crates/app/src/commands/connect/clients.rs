//! Where MCP clients keep their configs, and what an entry looks like there.

use std::path::PathBuf;

use anyhow::bail;
use serde_json::{Value, json};

use super::Endpoint;
use crate::{cli::ClientName, environment};

/// A client's config.
pub(super) struct McpClientApp {
    pub(super) title: &'static str,
    /// The key that servers stand under.
    pub(super) section: &'static str,
    pub(super) format: ConfigFormat,
    name: ClientName,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    /// JSON, perhaps with comments.
    Json,
    Toml,
}

impl McpClientApp {
    pub(super) fn of(name: ClientName) -> Self {
        let (title, section, format) = match name {
            ClientName::Claude => ("Claude Desktop", "mcpServers", ConfigFormat::Json),
            ClientName::ClaudeCode => ("Claude Code", "mcpServers", ConfigFormat::Json),
            ClientName::Cursor => ("Cursor", "mcpServers", ConfigFormat::Json),
            ClientName::Vscode => ("VS Code", "servers", ConfigFormat::Json),
            ClientName::Codex => ("Codex", "mcp_servers", ConfigFormat::Toml),
            ClientName::Gemini => ("Gemini CLI", "mcpServers", ConfigFormat::Json),
            ClientName::Zed => ("Zed", "context_servers", ConfigFormat::Json),
            ClientName::Windsurf => ("Windsurf", "mcpServers", ConfigFormat::Json),
        };
        Self { title, section, format, name }
    }

    /// The user's config of the client, whether it is there or not.
    ///
    /// # Errors
    /// There is no home folder.
    pub(super) fn file(&self) -> anyhow::Result<PathBuf> {
        let Some(home) = environment::path("HOME") else {
            bail!(
                "there is no home folder to look for the config of {}: HOME is not set",
                self.title
            );
        };
        let is_mac = cfg!(target_os = "macos");
        let named = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        let xdg = named.unwrap_or_else(|| home.join(".config"));
        // Programs built on Electron keep their settings there on macOS.
        let application =
            if is_mac { home.join("Library/Application Support") } else { xdg.clone() };
        let codex = environment::path("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        Ok(match self.name {
            ClientName::Claude => application.join("Claude/claude_desktop_config.json"),
            ClientName::ClaudeCode => home.join(".claude.json"),
            ClientName::Cursor => home.join(".cursor/mcp.json"),
            ClientName::Vscode => application.join("Code/User/mcp.json"),
            ClientName::Codex => codex.join("config.toml"),
            ClientName::Gemini => home.join(".gemini/settings.json"),
            ClientName::Zed => {
                if is_mac { home.join(".config") } else { xdg }.join("zed/settings.json")
            }
            ClientName::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
        })
    }

    /// What the client's config says of us.
    ///
    /// # Errors
    /// The client cannot connect to a gateway.
    pub(super) fn entry(&self, endpoint: &Endpoint) -> anyhow::Result<Value> {
        let mut entry = match endpoint {
            Endpoint::Program { command, args } => match self.name {
                ClientName::ClaudeCode | ClientName::Vscode => {
                    json!({"type": "stdio", "command": command, "args": args})
                }
                ClientName::Zed => {
                    json!({"source": "custom", "command": command, "args": args, "env": {}})
                }
                _ => json!({"command": command, "args": args}),
            },
            Endpoint::Gateway { url, .. } => match self.name {
                ClientName::Claude => bail!(
                    "{} starts programs, and its config takes no address; leave --url out",
                    self.title
                ),
                ClientName::ClaudeCode | ClientName::Vscode => json!({"type": "http", "url": url}),
                ClientName::Gemini => json!({"httpUrl": url}),
                ClientName::Windsurf => json!({"serverUrl": url}),
                _ => json!({"url": url}),
            },
        };
        if let Endpoint::Gateway { headers: Some(headers), .. } = endpoint {
            let key = if self.name == ClientName::Codex { "http_headers" } else { "headers" };
            entry[key] = headers.clone();
        }
        Ok(entry)
    }
}
