//! How each model of the config is: its key, whether it is there, and what of the tools it does not get as they are.

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
    settings::Loaded,
    terminal::text,
};

/// How long a server on this machine may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out about a model.
#[derive(Debug, Serialize)]
pub(super) struct ModelReport {
    name: String,
    provider: Provider,
    model: String,
    base_url: String,
    key: KeySource,
    /// Whether it answers; only looked at if it is on this machine or an Ollama.
    #[serde(skip_serializing_if = "Option::is_none")]
    reachable: Option<bool>,
    /// Ollama: the models that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<Vec<String>>,
    /// What keeps it from being asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// How many tools it is offered.
    tools: usize,
    /// Tools that are sent in another form than they have.
    lowered: Vec<Lowering>,
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

/// Looks at all models of the config at once.
pub(super) async fn probe(app: &App, loaded: &Loaded) -> Vec<ModelReport> {
    let models = loaded.settings.models.iter();
    join_all(models.map(|(name, config)| ModelReport::of(name, config, app))).await
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
        };
        report.look(&config, base_url).await;
        report
    }

    /// Finds out whether it could be asked now.
    async fn look(&mut self, config: &ModelConfig, base_url: &str) {
        if let Err(error) = connect(config) {
            self.problem = Some(error.to_string());
        } else if let (KeySource::Missing, Some(variable)) =
            (self.key, self.provider.info().key_variable)
        {
            self.problem = Some(format!("there is no key; set {variable}, or `api_key`"));
        } else if self.provider == Provider::Ollama {
            self.look_at_ollama(config, base_url).await;
        } else if let (host, port) = authority(base_url)
            && is_here(&host)
        {
            let connected = timeout(PATIENCE, TcpStream::connect((&*host, port))).await;
            self.reachable = Some(matches!(connected, Ok(Ok(_))));
            if self.reachable == Some(false) {
                self.problem = Some(format!("nobody answers at {}", self.base_url));
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

    /// Finds out whether the model is offered tools that it cannot call: Ollama would refuse every question.
    async fn look_at_tools(&mut self, listed: Option<bool>, probe: &ModelConfig) {
        if self.tools == 0 {
            return;
        }
        // Older builds say it only of one model at a time.
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
        let mut lines =
            vec![format!("{provider} {model} at {base_url}{key}{reached}, {tools} tools offered")];
        lines.extend(self.problem.iter().cloned());
        if let Some(installed) = &self.installed {
            let all = if installed.is_empty() { "none".to_owned() } else { installed.join(", ") };
            lines.push(format!("installed: {all}"));
        }
        lines.extend(self.lowered());
        let status = if self.problem.is_some() { CheckStatus::Broken } else { CheckStatus::Ok };
        let lines: Vec<_> = lines.iter().map(|line| text::one_line(line)).collect();
        DoctorCheck::new(format!("model {}", self.name), status, lines.join("\n"))
    }

    /// Which tools are sent in another form; what exactly is changed of a schema is for programs.
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
