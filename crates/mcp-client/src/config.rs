//! The settings of `[mcp]` and `[servers.*]`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use switchboard_lock::LockMode;
use switchboard_oauth::{OauthConfig, ServerAuth};
use switchboard_sandbox::{SandboxAllow, SandboxConfig, SandboxLimits, SandboxMode};
use switchboard_toolcall::{HumanDuration, HumanSize, Normalize, Strictness, ToolSettings};

/// The settings of `[mcp]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    /// How often a connection is tried before the server counts as failed.
    pub retry_attempts: u32,
    /// How long the second attempt waits; each further one waits twice as long.
    pub retry_base_delay: HumanDuration,
    /// How long one attempt may take, a slow start included, if the server's own settings do not say.
    pub connect_timeout: HumanDuration,
    /// How long commands that need the tools of all servers wait for those that are still connecting.
    pub startup_wait: HumanDuration,
}

impl Default for McpConfig {
    fn default() -> Self {
        let seconds = |seconds| HumanDuration(Duration::from_secs(seconds));
        Self {
            retry_attempts: 3,
            retry_base_delay: seconds(2),
            connect_timeout: seconds(30),
            startup_wait: seconds(10),
        }
    }
}

impl McpConfig {
    /// Returns how long to wait before an attempt, the first of which has the number 1.
    pub(super) fn delay(&self, attempt: u32) -> Duration {
        match attempt {
            0 | 1 => Duration::ZERO,
            _ => self.retry_base_delay.0.saturating_mul(2_u32.saturating_pow(attempt - 2)),
        }
    }
}

/// The settings of one server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// How the server is reached; by default a `command` means stdio and a `url` means streamable HTTP.
    #[serde(rename = "type")]
    pub kind: Option<TransportKind>,
    /// The program of a stdio server.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it finds in its environment beside the few variables that every server gets.
    pub env: BTreeMap<String, String>,
    /// Whether it gets all of our environment.
    pub inherit_env: bool,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// The address of an HTTP server.
    pub url: Option<String>,
    /// The Unix socket of a gateway of our own, over which `url` is reached; while nobody listens on it, `command` may be used
    /// in its place. Never read from a config.
    #[serde(skip)]
    pub socket: Option<PathBuf>,
    /// What each request says in its headers.
    pub headers: BTreeMap<String, String>,
    /// Whose sign-in calls to it use.
    pub auth: ServerAuth,
    /// How to sign in to it, if it wants that.
    pub oauth: OauthConfig,
    /// What to look at when the server cannot be reached; shown to people.
    pub check: Option<String>,
    /// How long a call of its tools may take.
    pub timeout: Option<HumanDuration>,
    /// How long one attempt to connect may take; as `[mcp]` says, if unset.
    pub connect_timeout: Option<HumanDuration>,
    /// Whether a tool that reports progress gets its whole time again with each report.
    pub progress_extends_timeout: bool,
    /// How many characters of its results are shown.
    pub max_output: Option<HumanSize>,
    /// Whether extra parameters fail where a schema forbids them.
    pub strict: Option<bool>,
    /// Whether arguments are validated here; `false` leaves that to the server.
    pub validate: Option<bool>,
    /// How argument names are fixed.
    pub normalize: Normalize,
    /// Argument names that are mapped, by tool: what models say → what the server expects.
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
    /// Settings of single tools.
    pub tools: BTreeMap<String, ToolConfig>,
    /// Which protocol is spoken.
    pub protocol: Protocol,
    /// What stands before its tools' names; empty shows them bare.
    pub prefix: Option<String>,
    /// Whether what its tools say of themselves is believed.
    pub annotations: AnnotationTrust,
    /// When it is started.
    pub start: Start,
    /// When a server that was started on demand is stopped again; never, if unset.
    pub idle_stop: Option<HumanDuration>,
    /// Whether all callers share it.
    pub share: Share,
    /// How many calls to it may run at once.
    pub max_concurrent: Option<usize>,
    /// Whether its tools have no second effect if a call is repeated with the key in its `_meta`, so that a run that is resumed
    /// may make a call again that was in flight.
    pub honours_keys: bool,
    /// Whether it is used at all.
    pub enabled: Option<bool>,
    /// Patterns of its tools that may run; all, if unset. All others are denied, as by `[policy]`.
    pub enabled_tools: Option<Vec<String>>,
    /// What happens to its definitions that are not in `switchboard.lock`, or differ from it; as `[lock]` says, if unset.
    pub lock: Option<LockMode>,
    /// Whether its program is confined.
    pub sandbox: SandboxMode,
    /// What it may do all the same.
    pub sandbox_allow: SandboxAllow,
    /// How much it may take.
    pub sandbox_limits: SandboxLimits,
    /// For how long it remembers the keys that it honours, if that is known.
    #[serde(skip)]
    pub keys_kept: Option<HumanDuration>,
    /// Why it is skipped although it is enabled, such as a variable that is not set: it is known and never connected to.
    #[serde(skip)]
    pub skipped: Option<String>,
}

/// Settings of one tool of a server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ToolConfig {
    /// How long a call may take.
    pub timeout: Option<HumanDuration>,
    /// How many characters of its result are shown.
    pub max_output: Option<HumanSize>,
    /// How many calls of it may run at once.
    pub max_concurrent: Option<usize>,
    /// How long an answer may be given again without asking the server.
    pub cache: Option<HumanDuration>,
    /// Whether a call that is repeated with its key has no second effect; as the server says, if unset.
    pub honours_keys: Option<bool>,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = other_names)]
pub enum TransportKind {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    #[serde(alias = "streamable-http", alias = "streamablehttp", alias = "streamableHttp")]
    Http,
    /// The old HTTP+SSE of 2024-11-05.
    Sse,
}

/// Adds the other names of [`TransportKind::Http`].
fn other_names(schema: &mut schemars::Schema) {
    let names = ["streamable-http", "streamablehttp", "streamableHttp"];
    let names = serde_json::json!({"description": "Streamable HTTP.", "enum": names});
    if let Some(kinds) = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) {
        kinds.push(names);
    }
}

/// Which protocol is spoken with a server.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Whichever the server understands, the newest first.
    #[default]
    Auto,
    /// Sessions opened by `initialize`.
    Legacy,
    /// Stateless requests.
    #[serde(rename = "2026-07-28")]
    Modern,
}

/// Whether what a server's tools say of themselves (`readOnlyHint`, `destructiveHint` …) is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnnotationTrust {
    /// As the server says.
    #[default]
    Trust,
    /// As if the tools said nothing: each counts as one that may destroy something.
    Ignore,
}

/// When a server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// With Switchboard.
    #[default]
    Eager,
    /// With the first call to it.
    OnDemand,
}

/// Who shares a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// Everybody.
    #[default]
    All,
    /// Nobody: each client session has its own.
    Session,
}

impl ServerConfig {
    /// How the server is reached.
    ///
    /// # Errors
    /// The settings name no way, two ways, or one without what it needs.
    pub fn kind(&self) -> Result<TransportKind, String> {
        let kind = self.transport()?;
        self.check_auth(kind)?;
        self.check_sandbox(kind)?;
        Ok(kind)
    }

    /// Checks that there is a program to confine, and that its sandbox can be meant.
    fn check_sandbox(&self, kind: TransportKind) -> Result<(), String> {
        let sandbox = self.sandbox();
        let is_set =
            !(sandbox.mode.is_off() && sandbox.allow.is_empty() && sandbox.limits.is_default());
        match kind {
            TransportKind::Stdio => sandbox.check(),
            _ if is_set => {
                Err("`sandbox`: it needs a `command`: only a program is confined".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// What confines its program.
    pub fn sandbox(&self) -> SandboxConfig {
        SandboxConfig {
            mode: self.sandbox,
            allow: self.sandbox_allow.with_presets(),
            limits: self.sandbox_limits.clone(),
        }
    }

    /// Checks that the server can be signed in to as the settings want.
    fn check_auth(&self, kind: TransportKind) -> Result<(), String> {
        self.auth.check("servers", &self.oauth)?;
        match (self.auth, kind) {
            (ServerAuth::Shared, _) => Ok(()),
            (_, TransportKind::Stdio) => {
                Err(self.auth.conflict("it needs a `url`: a program is not signed in to"))
            }
            _ => self.auth.check_credentials(self.headers.keys(), "url", self.url.as_deref()),
        }
    }

    fn transport(&self) -> Result<TransportKind, String> {
        let needs = |kind: &str, key: &str| format!("type = \"{kind}\" needs `{key}`");
        if self.socket.is_some() {
            return Ok(TransportKind::Http);
        }
        match (self.kind, &self.command, &self.url) {
            (None | Some(TransportKind::Stdio), Some(_), None) => Ok(TransportKind::Stdio),
            (None | Some(TransportKind::Http), None, Some(_)) => Ok(TransportKind::Http),
            (Some(TransportKind::Sse), None, Some(_)) => Ok(TransportKind::Sse),
            (Some(TransportKind::Stdio), None, _) => Err(needs("stdio", "command")),
            (Some(TransportKind::Http), _, None) => Err(needs("http", "url")),
            (Some(TransportKind::Sse), _, None) => Err(needs("sse", "url")),
            (_, Some(_), Some(_)) => Err("it has both `command` and `url`; leave one".to_owned()),
            (None, None, None) => {
                Err("it has neither `command` (stdio) nor `url` (HTTP)".to_owned())
            }
        }
    }

    /// Whether each caller has credentials of its own at it.
    pub fn is_per_caller(&self) -> bool {
        self.auth.is_per_caller(&self.oauth)
    }

    /// Whether it is used at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// Returns the settings with which the server's tool `name` runs: those of the tool, else those of the server.
    pub fn tool_settings(&self, name: &str) -> ToolSettings {
        let own = self.tools.get(name).cloned().unwrap_or_default();
        let size = |size: HumanSize| usize::try_from(size.0).unwrap_or(usize::MAX);
        ToolSettings {
            timeout: own.timeout.or(self.timeout).map(|timeout| timeout.0),
            progress_extends_timeout: self.progress_extends_timeout,
            max_output: own.max_output.or(self.max_output).map(size),
            max_concurrent: own.max_concurrent,
            cache: own.cache.map(|time| time.0),
            per_caller: self.is_per_caller(),
            durable: false,
            honours_keys: own.honours_keys.unwrap_or(self.honours_keys),
            keys_kept: self.keys_kept.map(|time| time.0),
            strictness: match (self.validate, self.strict) {
                (Some(false), _) => Strictness::Off,
                (_, Some(true)) => Strictness::Strict,
                (_, Some(false)) => Strictness::Lenient,
                (_, None) => Strictness::Inherit,
            },
            normalize: self.normalize,
            rename: self.rename.get(name).cloned().unwrap_or_default(),
            fixed: BTreeMap::new(),
            hidden: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    // AU-3
    #[test]
    fn only_a_server_behind_http_without_credentials_is_signed_in_to_by_each_caller() {
        let check = |value: Value| serde_json::from_value::<ServerConfig>(value).unwrap().kind();
        let url = "https://a.example/mcp";
        assert_eq!(check(json!({"auth": "user", "url": url})), Ok(TransportKind::Http));
        assert_eq!(check(json!({"auth": "shared", "url": url})), Ok(TransportKind::Http));
        let header = json!({"authorization": "x"});
        for (wrong, word) in [
            (json!({"auth": "user", "command": "x"}), "needs a `url`"),
            (json!({"auth": "user", "url": url, "headers": header}), "`headers`"),
            (json!({"auth": "user", "url": "https://me:pw@a.example/"}), "a user or a password"),
        ] {
            let problem = check(wrong).unwrap_err();
            assert!(
                problem.starts_with("auth = \"user\": ") && problem.contains(word),
                "{problem}"
            );
        }
        assert!(serde_json::from_value::<ServerConfig>(json!({"auth": "everyone"})).is_err());
    }
}
