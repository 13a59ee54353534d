//! The config file: found, read with its lines, checked, handed down in parts (SPEC §13).
//!
//! TOML and JSON both become a tree of [`ConfigNode`]s that know their lines. From there on there is one path:
//! tool definitions are brought into one shape, `${VAR}` is filled in, and serde reads the parts.

mod find;
mod toml;
mod yaml;
mod json;
mod jsonc;
mod node;
mod definitions;
pub(crate) mod edit;
mod imported_config;
pub(crate) mod import;
pub(crate) mod inputs;
pub(crate) mod own_servers;
pub(crate) mod secrets;
mod substitute;
mod missing;
mod skipped;
mod deserialize;
mod problem;
mod effects;
pub(crate) mod schema;
pub(crate) mod trust;
pub mod fuzzing;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use indexmap::IndexMap;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use switchboard_agent::Config as AgentConfig;
use switchboard_apis::ApiConfig;
use switchboard_audit::Config as AuditConfig;
use switchboard_gateway::Config as ServeConfig;
use switchboard_local::{BuiltinsConfig, Faults, ToolDefinition};
use switchboard_lock::LockConfig;
use switchboard_mcp_client::{McpConfig, ServerConfig};
use switchboard_models::ModelConfig;
use switchboard_runtime::{Config, PolicyConfig};
use switchboard_telemetry::Config as TelemetryConfig;
use switchboard_toolcall::ProfileConfig;
use switchboard_toolcall::text::hex;
use switchboard_voice::Config as VoiceConfig;
use switchboard_workers::{Config as ClusterConfig, WorkerConfig};
use switchboard_zwave::Config as ZwaveConfig;

use crate::{overrides::Replay, records::ProcessStore};
use find::ConfigFile;
use imported_config::{Dialect, Projects, Workspace};
use inputs::ConfigInput;
use node::{ConfigKey, ConfigNode, NodeContent};
use problem::{ConfigProblem, PathStep};
use trust::TrustPrompt;

pub(crate) use effects::Effects;
pub(crate) use find::{FILE_NAME, own_config};
pub(crate) use imported_config::Dialect as ForeignDialect;
pub(crate) use skipped::SkippedEntries;
pub(crate) use substitute::is_secret_name;

/// Everything that can be set; each part is read by the crate that uses it.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// `[executor]`
    pub(crate) executor: Config,
    /// `[policy]`
    pub(crate) policy: PolicyConfig,
    /// `[builtins]`
    pub(crate) builtins: BuiltinsConfig,
    /// `[[tools]]`
    #[schemars(schema_with = "schema::tools")]
    pub(crate) tools: Vec<ToolDefinition>,
    /// `[mcp]`
    pub(crate) mcp: McpConfig,
    /// `[servers.*]`, in the order of the file.
    #[schemars(with = "BTreeMap<String, ServerConfig>")]
    pub(crate) servers: IndexMap<String, ServerConfig>,
    /// `[apis.*]`, in the order of the file.
    #[schemars(with = "BTreeMap<String, ApiConfig>")]
    pub(crate) apis: IndexMap<String, ApiConfig>,
    /// `[profiles.*]`, in the order of the file.
    #[schemars(with = "BTreeMap<String, ProfileConfig>")]
    pub(crate) profiles: IndexMap<String, ProfileConfig>,
    /// `[lock]`
    pub(crate) lock: LockConfig,
    /// `[audit]`
    pub(crate) audit: AuditConfig,
    /// `[serve]`
    pub(crate) serve: ServeConfig,
    /// `[telemetry]`
    pub(crate) telemetry: TelemetryConfig,
    /// `[models.*]`, in the order of the file
    #[schemars(with = "BTreeMap<String, ModelConfig>")]
    pub(crate) models: IndexMap<String, ModelConfig>,
    /// `[agent]`
    pub(crate) agent: AgentConfig,
    /// `[zwave]`
    pub(crate) zwave: ZwaveConfig,
    /// `[voice]`
    pub(crate) voice: VoiceConfig,
    /// `[cluster]`
    pub(crate) cluster: ClusterConfig,
    /// `[worker]`
    pub(crate) worker: WorkerConfig,
}

/// Settings, and where they came from.
#[derive(Debug, Default)]
pub(crate) struct LoadedConfig {
    pub(crate) settings: Settings,
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The lines of the sections, by name.
    sections: BTreeMap<String, usize>,
    /// The lines of the tool definitions, in order.
    tools: Vec<usize>,
    /// The lines of the servers, by name.
    servers: BTreeMap<String, usize>,
    /// The lines of the APIs, by name.
    apis: BTreeMap<String, usize>,
    /// The lines of the models, by name.
    models: BTreeMap<String, usize>,
    /// The lines of the profiles, by name.
    profiles: BTreeMap<String, usize>,
    /// What cannot be used because a value is missing.
    pub(crate) skipped: SkippedEntries,
    /// What `${input:…}` in the servers are, if the config is VS Code's.
    pub(crate) inputs: Vec<ConfigInput>,
    /// SHA-256 of the file's text, in hex.
    pub(crate) digest: Option<String>,
    /// Whether all tools are those of the running gateway, which also decides and records.
    pub(crate) is_attached: bool,
    /// The `[audit]` of the config, if the running gateway records the calls: runs are recorded here.
    pub(crate) attached_audit: Option<switchboard_audit::Config>,
    /// The store of calls and runs.
    pub(crate) store: ProcessStore,
    /// What `--replay` serves in place of the real tools.
    pub(crate) replay: Option<Replay>,
    /// The faults that `--fault` injects.
    pub(crate) faults: Option<Faults>,
}

impl LoadedConfig {
    /// The `[audit]` by which runs are recorded; `None` if they are not.
    pub(crate) fn run_records(&self) -> Option<&switchboard_audit::Config> {
        let config = self.attached_audit.as_ref().unwrap_or(&self.settings.audit);
        // A replayed run did not really happen.
        (config.enabled && self.replay.is_none()).then_some(config)
    }

    /// Whether the config has this section.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.sections.contains_key(name)
    }

    /// `file:line` of a section, for messages.
    pub(crate) fn place_of_section(&self, name: &str) -> String {
        self.place(self.sections.get(name))
    }

    /// `file:line` of a tool definition, for messages.
    pub(crate) fn place_of_tool(&self, index: usize) -> String {
        self.place(self.tools.get(index))
    }

    /// `file:line` of a server, for messages.
    pub(crate) fn place_of_server(&self, name: &str) -> String {
        self.place(self.servers.get(name))
    }

    /// `file:line` of an API, for messages.
    pub(crate) fn place_of_api(&self, name: &str) -> String {
        self.place(self.apis.get(name))
    }

    /// `file:line` of a model, for messages.
    pub(crate) fn place_of_model(&self, name: &str) -> String {
        self.place(self.models.get(name))
    }

    /// `file:line` of a profile, for messages.
    pub(crate) fn place_of_profile(&self, name: &str) -> String {
        self.place(self.profiles.get(name))
    }

    /// The servers that are to be used, in order.
    pub(crate) fn enabled_servers(&self) -> impl Iterator<Item = (&String, &ServerConfig)> {
        self.settings.servers.iter().filter(|(_, config)| config.is_enabled())
    }

    /// The servers that the config keeps without using them, in order.
    pub(crate) fn disabled_servers(&self) -> impl Iterator<Item = (&String, &ServerConfig)> {
        self.settings.servers.iter().filter(|(_, config)| !config.is_enabled())
    }

    /// Says that a server is disabled and how to use it again; `None` if it is not disabled.
    pub(crate) fn advice_to_enable(&self, server: &str) -> Option<String> {
        self.disabled_servers().find(|(name, _)| *name == server)?;
        let place = self.place_of_server(server);
        Some(format!(
            "server `{server}` is disabled in {place}; `switchboard enable {server}` uses it again"
        ))
    }

    /// As [`advice_to_enable`](Self::advice_to_enable), for the server that a tool's name begins with.
    pub(crate) fn advice_to_enable_server_of(&self, tool: &str) -> Option<String> {
        let (server, _) = tool.split_once(&*self.settings.executor.separator)?;
        self.advice_to_enable(server)
    }

    /// Whether tools may come from elsewhere: from servers, APIs, or workers of a cluster.
    pub(crate) fn has_others(&self) -> bool {
        self.enabled_servers().next().is_some()
            || !self.settings.apis.is_empty()
            || self.settings.cluster.nats.is_some()
    }

    fn place(&self, line: Option<&usize>) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new("settings")).display();
        line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    }
}

/// Loads the settings from the file that `--config` names, or else from the first of the usual places that has one. A
/// file that was found in the current folder, not named, must be trusted first if it has effects outside this process.
///
/// # Errors
/// The file cannot be read, is not trusted, or something in it is wrong: the text says what, and on which line.
pub(crate) fn load(flag: Option<&Path>) -> anyhow::Result<LoadedConfig> {
    load_asking(flag, TrustPrompt::Allowed)
}

/// Returns the config file that is used: the one that `--config` names, or else the first of the usual places.
///
/// # Errors
/// The file that was named does not exist.
pub(crate) fn config_in_use(flag: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    Ok(find::config_file(flag)?.map(|file| file.path))
}

/// Reads settings from the text of a config in TOML, as if it stood in `file`.
///
/// # Errors
/// Something in it is wrong.
pub(crate) fn load_text(text: &str, file: &Path) -> anyhow::Result<LoadedConfig> {
    let tell = |problem: ConfigProblem| anyhow!("{}{problem}", file.display());
    let config = parse(text, file).map_err(tell)?;
    let secrets = secrets::load()?;
    let loaded = read(config, file, &|name| secrets.variable(name)).map_err(tell)?;
    Ok(LoadedConfig { file: Some(file.to_owned()), ..loaded })
}

/// Loads the settings as [`load`] does.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_asking(
    flag: Option<&Path>,
    question: TrustPrompt,
) -> anyhow::Result<LoadedConfig> {
    load_with(flag, question, Ok)
}

/// As [`load`], for a command that needs only these sections. The others are not read: a server that is one of the
/// config's own children does not see the variables that they name.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_sections(
    flag: Option<&Path>,
    sections: &[&str],
) -> anyhow::Result<LoadedConfig> {
    load_with(flag, TrustPrompt::Allowed, |config| {
        let ParsedConfig::Ours(mut root) = config else {
            return Ok(ParsedConfig::Ours(ConfigNode::new(1, NodeContent::Table(Vec::new()))));
        };
        if let NodeContent::Table(entries) = &mut root.content {
            entries.retain(|(key, _)| sections.contains(&key.name.as_str()));
        }
        Ok(ParsedConfig::Ours(root))
    })
}

fn load_with(
    flag: Option<&Path>,
    question: TrustPrompt,
    choose: impl FnOnce(ParsedConfig) -> Result<ParsedConfig, ConfigProblem>,
) -> anyhow::Result<LoadedConfig> {
    let Some(ConfigFile { path: file, is_found }) = find::config_file(flag)? else {
        return Ok(LoadedConfig::default());
    };
    let tell = |problem: ConfigProblem| anyhow!("{}{problem}", file.display());
    let text = text_of(&file)?;
    let whole = parse(&text, &file).map_err(tell)?;
    // The person is shown the effects of the whole file, because the whole file is trusted.
    let effects = is_found.then(|| Effects::of(&whole)).transpose().map_err(tell)?;
    let chosen = choose(whole).map_err(tell)?;
    if let Some(effects) = effects
        && !Effects::of(&chosen).map_err(tell)?.is_empty()
    {
        trust::check(&file, &text, effects, question)?;
    }
    let secrets = secrets::load()?;
    let variable = |name: &str| secrets.variable(name);
    let loaded = read(chosen, &file, &variable).map_err(tell)?;
    let digest = Some(hex(&Sha256::digest(text.as_bytes())));
    Ok(LoadedConfig { file: Some(file), digest, ..loaded })
}

fn text_of(file: &Path) -> anyhow::Result<String> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("failed to read config `{shown}`"))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("{shown}:{line}: the config must be UTF-8 text")
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// A config before it is read: ours, or that of another program.
enum ParsedConfig {
    Ours(ConfigNode),
    Foreign(imported_config::ForeignConfig),
}

fn parse(text: &str, file: &Path) -> Result<ParsedConfig, ConfigProblem> {
    let (root, dialect) = parse_any(text, file)?;
    match dialect {
        Some(dialect) => {
            let separator = Config::default().separator;
            imported_config::adopt(&root, dialect, &separator, Projects::Current)
                .map(ParsedConfig::Foreign)
        }
        None => Ok(ParsedConfig::Ours(root)),
    }
}

/// Parses a file of any format, and returns whose config it is; `None` if it is ours.
fn parse_any(text: &str, file: &Path) -> Result<(ConfigNode, Option<Dialect>), ConfigProblem> {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    if matches!(end, "yaml" | "yml") {
        let root = yaml::parse(text)?;
        let dialect = imported_config::recognise_yaml(&root, file).ok_or_else(|| {
            let what = "there is neither goose's `extensions` nor Continue's `mcpServers` in it; Switchboard's own config is TOML or JSON";
            ConfigProblem::new(what)
        })?;
        return Ok((root, Some(dialect)));
    }
    let is_json = matches!(end, "json" | "jsonc" | "code-workspace");
    if is_json || json::looks_like_it(text) {
        let mut root = json::parse(text)?;
        // `$schema` is only for editors.
        if let NodeContent::Table(entries) = &mut root.content {
            entries.retain(|(key, _)| key.name != "$schema");
        }
        let dialect = imported_config::recognise(&root, file);
        return Ok((root, dialect));
    }
    let root = toml::parse(text)?;
    // The only other program with a TOML config is Codex.
    let dialect =
        imported_config::recognise(&root, file).filter(|dialect| *dialect == Dialect::Codex);
    Ok((root, dialect))
}

fn read(
    config: ParsedConfig,
    file: &Path,
    variable: substitute::Variable<'_>,
) -> Result<LoadedConfig, ConfigProblem> {
    let (root, skipped, inputs) = match config {
        ParsedConfig::Ours(root) => {
            let mut root = definitions::one_shape(root)?;
            let meaning = |asked: &str| substitute::value_of(asked, variable).map(Some);
            let skipped = skipped::fill(&mut root, &meaning)?;
            (root, skipped, Vec::new())
        }
        ParsedConfig::Foreign(config) => adopted(config, file, variable)?,
    };
    let mut loaded = LoadedConfig { inputs, ..LoadedConfig::default() };
    if let NodeContent::Table(entries) = &root.content {
        for (key, node) in entries {
            loaded.sections.insert(key.name.clone(), key.line);
            match (key.name.as_str(), &node.content) {
                ("tools", NodeContent::List(tools)) => {
                    loaded.tools = tools.iter().map(|tool| tool.line).collect();
                }
                ("servers", NodeContent::Table(servers)) => {
                    loaded.servers = lines_of("servers", servers)?
                }
                ("apis", NodeContent::Table(apis)) => loaded.apis = lines_of("apis", apis)?,
                ("models", NodeContent::Table(models)) => {
                    loaded.models = lines_of("models", models)?
                }
                ("profiles", NodeContent::Table(profiles)) => {
                    loaded.profiles = lines_of("profiles", profiles)?
                }
                _ => {}
            }
        }
    }
    loaded.settings = Settings::deserialize(root)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    loaded.settings.apis.values_mut().for_each(|api| api.set_folder(folder));
    for (name, reason) in &skipped.servers {
        if let Some(server) = loaded.settings.servers.get_mut(name) {
            server.skipped = Some(reason.clone());
        }
    }
    loaded.skipped = skipped;
    Ok(loaded)
}

/// The servers of another program's config as a config of ours.
fn adopted(
    config: imported_config::ForeignConfig,
    file: &Path,
    variable: substitute::Variable<'_>,
) -> Result<(ConfigNode, SkippedEntries, Vec<ConfigInput>), ConfigProblem> {
    let workspace = Workspace::of(file);
    let policy = config.policy(&Config::default().separator);
    let meaning = |asked: &str| imported_config::for_use(asked, &workspace, variable);
    let mut servers = Vec::with_capacity(config.servers.len());
    let mut skipped = SkippedEntries::default();
    for mut server in config.servers.into_iter().filter(|server| server.problem.is_none()) {
        let missing = server.fill(&meaning, &workspace)?;
        skipped.add_server(&server.key.name, &missing);
        if server.given != server.key.name {
            let (given, name) = (&server.given, &server.key.name);
            tracing::warn!(
                "server '{given}' is called '{name}' here, so that tool names stay plain"
            );
        }
        servers.push((server.key, server.node));
    }
    let key = ConfigKey { name: "servers".to_owned(), line: 1 };
    let servers = (key, ConfigNode::new(1, NodeContent::Table(servers)));
    let sections = [servers].into_iter().chain(policy).collect();
    Ok((ConfigNode::new(1, NodeContent::Table(sections)), skipped, config.inputs))
}

/// Returns the lines of a section's entries; fails if JSON has one twice, of which a map would silently keep the last.
fn lines_of(
    section: &str,
    named: &[(ConfigKey, ConfigNode)],
) -> Result<BTreeMap<String, usize>, ConfigProblem> {
    let mut lines = BTreeMap::new();
    for (key, _) in named {
        if lines.insert(key.name.clone(), key.line).is_some() {
            let what = format!("`{}` is given twice", key.name);
            return Err(ConfigProblem::new(what).at(key.line).inside(PathStep::key(section)));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests;
