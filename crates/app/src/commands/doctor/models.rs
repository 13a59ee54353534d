//! Checks each model of the config: its key, whether it can be reached, and which tools it gets in a simpler form. If the config
//! has no model, checks the one that `ask` and `chat` would find.

use std::{net::IpAddr, time::Duration};

use futures_util::future::join_all;
use serde::Serialize;
use switchboard_models::{Lowering, ModelConfig, Provider, connect, lower, ollama};
use switchboard_toolcall::{ToolPatterns, ToolSpec};
use tokio::{net::TcpStream, time::timeout};

use super::{CheckStatus, DoctorCheck};
use crate::{
    assembly::App,
    model::{self, authority, missing_key},
    settings::LoadedConfig,
    terminal::text,
};

/// How long a server on this machine may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// The state of a model.
#[derive(Debug, Serialize)]
pub(super) struct ModelReport {
    name: String,
    provider: Provider,
    model: String,
    base_url: String,
    key: KeySource,
    /// Whether it answers; only checked if it is on this machine or an Ollama.
    #[serde(skip_serializing_if = "Option::is_none")]
    reachable: Option<bool>,
    /// Ollama: the models that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<Vec<String>>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// How many tools it is offered.
    tools: usize,
    /// Tools that are sent in another form than they have.
    lowered: Vec<Lowering>,
    /// Why `ask` and `chat` use it, if no config names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

/// Where the key comes from; never the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum KeySource {
    Config,
    Environment,
    Missing,
    NotNeeded,
}

/// Checks all models of the config at once, or the one that is found without a config.
pub(super) async fn probe(app: &App, loaded: &LoadedConfig) -> Vec<ModelReport> {
    let models = &loaded.settings.models;
    if !models.is_empty() || !loaded.skipped.models.is_empty() {
        let models = models.iter();
        return join_all(models.map(|(name, config)| ModelReport::of(name, config, app))).await;
    }
    let Ok((config, reason)) = model::found().await else { return Vec::new() };
    let name = format!("{}:{}", config.provider, config.model);
    vec![ModelReport { found: Some(reason), ..ModelReport::of(&name, &config, app).await }]
}

/// Says that there is no model at all.
pub(super) fn none() -> DoctorCheck {
    let note =
        "none is set up; `switchboard ask` says how to get one, and `ask -m demo` works without";
    DoctorCheck::new("model", CheckStatus::Info, note)
}

impl ModelReport {
    async fn of(name: &str, config: &ModelConfig, app: &App) -> Self {
        let given = config.api_key.as_ref().is_some_and(|key| !key.reveal().trim().is_empty());
        let config = model::completed(config.clone());
        let key = match (given, &config.api_key, missing_key(&config)) {
            (true, _, _) => KeySource::Config,
            (false, Some(_), _) => KeySource::Environment,
            (false, None, Some(_)) => KeySource::Missing,
            (false, None, None) => KeySource::NotNeeded,
        };
        let base_url = config.base_url();
        let (tools, pattern_problem) = offered(&config, app);
        let specs: Vec<_> = tools.iter().collect();
        let mut report = Self {
            name: name.to_owned(),
            provider: config.provider,
            model: config.model.clone(),
            base_url: without_password(base_url),
            key,
            reachable: None,
            installed: None,
            problem: pattern_problem,
            tools: tools.len(),
            lowered: lower::report(config.provider, &specs),
            found: None,
        };
        report.look(&config, base_url).await;
        report
    }

    /// Checks whether it can be used now.
    async fn look(&mut self, config: &ModelConfig, base_url: &str) {
        if let Err(error) = connect(config) {
            self.problem = Some(error.to_string());
        } else if let (KeySource::Missing, Some(variable)) =
            (self.key, self.provider.info().key_variable)
        {
            self.problem = Some(format!("there is no key; set {variable}, or `api_key`"));
        } else if self.provider == Provider::Script {
            // `connect` has checked everything.
        } else if self.provider == Provider::Ollama {
            self.look_at_ollama(config, base_url).await;
        } else if let (host, port) = authority(base_url)
            && is_here(&host)
        {
            let connected = timeout(PATIENCE, TcpStream::connect((&*host, port))).await;
            self.reachable = Some(matches!(connected, Ok(Ok(_))));
            if self.reachable == Some(false) {
                self.problem = Some(format!("no response from {}", self.base_url));
            }
        }
    }

    async fn look_at_ollama(&mut self, config: &ModelConfig, base_url: &str) {
        let probe = ModelConfig {
            api_key: config.api_key.clone(),
            headers: config.headers.clone(),
            ..model::probe(base_url)
        };
        match ollama::installed(&probe).await {
            Err(error) => {
                self.reachable = Some(false);
                self.problem = Some(error.to_string());
            }
            Ok(found) => {
                self.reachable = Some(true);
                let latest = format!("{}:latest", self.model);
                let is_ours = |name: &str| name == self.model || name == latest;
                match found.iter().find(|model| is_ours(&model.name)) {
                    Some(model) => {
                        let probe = ModelConfig { model: self.model.clone(), ..probe };
                        self.look_at_tools(model.calls_tools, &probe).await;
                    }
                    None => {
                        let way_out = format!("`ollama pull {}` gets it", self.model);
                        let text = format!("Ollama does not have {}; {way_out}", self.model);
                        self.problem = Some(text);
                    }
                }
                self.installed = Some(found.into_iter().map(|model| model.name).collect());
            }
        }
    }

    /// Checks whether the model is offered tools that it cannot call: Ollama would refuse every question.
    async fn look_at_tools(&mut self, listed: Option<bool>, probe: &ModelConfig) {
        if self.tools == 0 {
            return;
        }
        // Older versions of Ollama report it only for one model at a time.
        let calls_tools = match listed {
            Some(calls_tools) => Some(calls_tools),
            None => ollama::can(probe, "tools").await,
        };
        if calls_tools == Some(false) {
            self.problem = Some(format!(
                "{} cannot call tools, and is offered {}; choose another model, or set `tools = []` for it",
                self.model, self.tools
            ));
        }
    }

    /// The finding for people.
    pub(super) fn check(&self) -> DoctorCheck {
        let key = match self.key {
            KeySource::Config => ", key in the config",
            KeySource::Environment => ", key in the environment",
            KeySource::Missing => ", no key",
            KeySource::NotNeeded => "",
        };
        let reached = match self.reachable {
            Some(true) => ", reachable",
            Some(false) => ", not reachable",
            None => "",
        };
        let Self { provider, model, base_url, tools, .. } = self;
        let place = match provider {
            Provider::Script => String::new(),
            _ => format!(" at {base_url}"),
        };
        let mut lines =
            vec![format!("{provider} {model}{place}{key}{reached}, {tools} tools offered")];
        let found = self.found.as_ref();
        lines.extend(found.map(|reason| format!("`ask` and `chat` use it, because {reason}")));
        lines.extend(self.problem.iter().cloned());
        if let Some(installed) = &self.installed {
            let all = if installed.is_empty() { "none".to_owned() } else { installed.join(", ") };
            lines.push(format!("installed: {all}"));
        }
        lines.extend(self.lowered());
        let status = match (&self.problem, &self.found) {
            (None, _) => CheckStatus::Ok,
            // No config names it, so this is not an error.
            (Some(_), Some(_)) => CheckStatus::Info,
            (Some(_), None) => CheckStatus::Broken,
        };
        let lines: Vec<_> = lines.iter().map(|line| text::one_line(line)).collect();
        DoctorCheck::new(format!("model {}", self.name), status, lines.join("\n"))
    }

    /// Lists the tools that are sent in another form; the exact changes of their schemas are only in the JSON.
    fn lowered(&self) -> Vec<String> {
        let renamed = self.lowered.iter().filter(|lowered| lowered.sent_as != lowered.tool);
        let mut lines: Vec<_> =
            renamed.map(|tool| format!("sent as {}: {}", tool.sent_as, tool.tool)).collect();
        let is_simpler =
            |tool: &&Lowering| tool.notes.len() > usize::from(tool.sent_as != tool.tool);
        let simpler = self.lowered.iter().filter(is_simpler);
        let simpler: Vec<_> = simpler.map(|tool| tool.tool.as_str()).collect();
        if !simpler.is_empty() {
            lines.push(format!(
                "sent with a simpler schema (--json says how): {}",
                simpler.join(", ")
            ));
        }
        lines
    }
}

/// The tools that the model is offered, under the names by which they are shown; and what is wrong with its patterns.
fn offered(config: &ModelConfig, app: &App) -> (Vec<ToolSpec>, Option<String>) {
    let globs = config.tools.as_deref().map(ToolPatterns::new).transpose();
    let problem = globs.as_ref().err().map(|error| format!("`tools`: {error}"));
    let globs = globs.ok().flatten();
    let all = app.executor.tools().listed();
    let offered = all.iter().filter(|tool| globs.as_ref().is_none_or(|g| g.matches(tool.name())));
    let named = |name: &str, spec: &ToolSpec| ToolSpec { name: name.to_owned(), ..spec.clone() };
    (offered.map(|tool| named(tool.name(), tool.spec())).collect(), problem)
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The address for people: what stands before an `@` may be a password.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.find('/').unwrap_or(rest.len());
    let place = rest[..host].rfind('@').map_or(rest, |at| &rest[at + 1..]);
    format!("{scheme}://{place}")
}
