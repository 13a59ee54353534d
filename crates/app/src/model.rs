//! Chooses the model: the one of `-m`, of the config, one whose key is in the environment, or one of an Ollama on this machine
//! (SPEC ML-8 to ML-10).

mod advice;
mod host;
mod local;
mod offer;

use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use switchboard_gateway::Models;
use switchboard_models::{Model, ModelConfig, Provider, Secret, connect, script::DEMO};
use switchboard_runtime::lookup::close_names;
use switchboard_toolcall::ToolPatterns;

use crate::{
    environment, records,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, text},
};

pub(crate) use advice::{after_failure, after_overflow};
pub(crate) use host::authority;
pub(crate) use local::{found, probe};
pub(crate) use offer::tell_unmatched;

/// A model that is ready for requests.
#[derive(Clone)]
pub(crate) struct ChosenModel {
    /// Its name, as `-m` takes it.
    pub(crate) name: String,
    pub(crate) model: Arc<dyn Model>,
    /// The tools that its config offers it; `None` if the config does not say (ML-9).
    pub(crate) tools: Option<ToolPatterns>,
    /// Its settings, completed from the environment.
    config: Arc<ModelConfig>,
    /// Why it was chosen; `None` if it was named.
    reason: Option<String>,
}

impl ChosenModel {
    /// Says which model is used, and why, unless it was named.
    pub(crate) fn tell_choice(&self) {
        if let Some(reason) = &self.reason {
            let text = format!("using {}: {reason} (-m chooses another)", self.name);
            terminal::tell(&text::one_line(&text));
        }
    }

    /// Checks that the model can be reached before servers are started for it. Does nothing if there are no servers: then its
    /// first response shows it as soon.
    ///
    /// # Errors
    /// The model cannot be used: the text says why, and what to do.
    pub(crate) async fn check(&self, loaded: &LoadedConfig) -> anyhow::Result<()> {
        if !loaded.has_others() {
            return Ok(());
        }
        let Err(error) = switchboard_models::check(&self.config).await else { return Ok(()) };
        let advice = after_failure(&error, self.config.provider, true);
        let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
        let text = format!("{:#}{advice}", anyhow::Error::from(error));
        bail!(CommandFailed(format!("model `{}`: {text}", self.name)))
    }
}

/// Finds the model that `-m` names, or else the first of the config that is not skipped, or else one that the environment has a key
/// for, or else one of a local Ollama.
///
/// # Errors
/// There is no such model, or no model can be used without more settings: the text says which.
pub(crate) async fn choose(
    wanted: Option<&str>,
    loaded: &LoadedConfig,
) -> anyhow::Result<ChosenModel> {
    let models = &loaded.settings.models;
    let skipped = loaded.skipped.models.keys().find_map(|name| loaded.skipped.model(name));
    match (wanted, models.first(), skipped) {
        (Some(wanted), ..) => named(wanted, loaded),
        (None, Some((name, config)), _) => configured(name, config, loaded),
        (None, None, Some(skipped)) => bail!(skipped),
        (None, None, None) => {
            let (config, reason) = local::find().await?;
            Ok(ChosenModel { reason: Some(reason), ..described(config)? })
        }
    }
}

/// Returns the model of `[agent] summary_model`, if there is one.
///
/// # Errors
/// There is no such model.
pub(crate) fn summariser(loaded: &LoadedConfig) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let Some(name) = &loaded.settings.agent.summary_model else { return Ok(None) };
    let chosen = named(name, loaded).context("[agent] summary_model")?;
    Ok(Some(chosen.model))
}

/// Returns the model of this name: one of the config, or `PROVIDER:MODEL`, with `@URL` or without.
fn named(wanted: &str, loaded: &LoadedConfig) -> anyhow::Result<ChosenModel> {
    if let Some(config) = loaded.settings.models.get(wanted) {
        return configured(wanted, config, loaded);
    }
    if let Some(skipped) = loaded.skipped.model(wanted) {
        bail!(skipped);
    }
    match wanted.split_once(':') {
        None if wanted == DEMO => {
            let demo = described(ModelConfig::new(Provider::Script, DEMO))?;
            Ok(ChosenModel { name: wanted.to_owned(), ..demo })
        }
        Some((provider, rest)) => match provider.parse::<Provider>() {
            Ok(provider) => described(place_of(provider, rest)),
            Err(_) => Err(unknown(wanted, loaded)),
        },
        None => Err(unknown(wanted, loaded)),
    }
}

/// Parses `MODEL` or `MODEL@URL`; the name of a model may contain `@`, too.
fn place_of(provider: Provider, model: &str) -> ModelConfig {
    let place = ["@http://", "@https://"].iter().find_map(|mark| model.rfind(mark));
    let (model, base_url) = match place {
        Some(at) => (&model[..at], Some(model[at + 1..].to_owned())),
        None => (model, None),
    };
    ModelConfig { base_url, ..ModelConfig::new(provider, model) }
}

fn configured(
    name: &str,
    config: &ModelConfig,
    loaded: &LoadedConfig,
) -> anyhow::Result<ChosenModel> {
    let place = || format!("{}: model `{name}`", loaded.place_of_model(name));
    let tools = config.tools.as_deref().map(ToolPatterns::new).transpose();
    let tools = tools.context("`tools`").with_context(place)?;
    let (model, config) = ready(in_folder(config, loaded)).with_context(place)?;
    let config = Arc::new(config);
    Ok(ChosenModel { name: name.to_owned(), model, tools, config, reason: None })
}

/// Returns the settings with the path of a script made relative to the folder of the config.
fn in_folder(config: &ModelConfig, loaded: &LoadedConfig) -> ModelConfig {
    let mut config = config.clone();
    let folder = loaded.file.as_ref().and_then(|file| file.parent());
    if let (Provider::Script, Some(folder)) = (config.provider, folder)
        && config.model != DEMO
    {
        config.model = folder.join(&config.model).display().to_string();
    }
    config
}

/// The models of the config, for clients of the gateway; each is connected when it is first asked.
///
/// # Errors
/// A pattern of a model's `tools` is invalid.
pub(crate) fn for_chat(loaded: &LoadedConfig) -> anyhow::Result<Models> {
    let mut models = Models::new(loaded.settings.agent.clone());
    models.record_runs(records::run_recording(loaded, ""));
    models.summarise_with(summariser(loaded)?);
    for (name, config) in &loaded.settings.models {
        let place = || format!("{}: model `{name}`", loaded.place_of_model(name));
        let tools = config.tools.as_deref().map(ToolPatterns::new).transpose();
        let tools = tools.context("`tools`").with_context(place)?;
        let config = in_folder(config, loaded);
        let connect = move || ready(config.clone()).map(|(model, _)| model).map_err(Into::into);
        models.add(name, tools, Box::new(connect));
    }
    for name in loaded.skipped.models.keys() {
        models.skip(name, loaded.skipped.model(name).unwrap_or_default());
    }
    Ok(models)
}

/// Returns a model that is not in the config.
fn described(config: ModelConfig) -> anyhow::Result<ChosenModel> {
    let mut name = format!("{}:{}", config.provider, config.model);
    if let Some(url) = &config.base_url {
        name = format!("{name}@{url}");
    }
    let (model, config) = ready(config).with_context(|| format!("model `{name}`"))?;
    let config = Arc::new(config);
    Ok(ChosenModel { name, model, tools: None, config, reason: None })
}

/// Returns the client of a model, and its settings completed from the environment.
fn ready(config: ModelConfig) -> anyhow::Result<(Arc<dyn Model>, ModelConfig)> {
    let config = completed(config);
    if config.model.is_empty() {
        bail!("the model's name is missing; write {}:NAME", config.provider);
    }
    if let Some(variable) = missing_key(&config) {
        bail!(
            "there is no key for {}; set {variable}, or `api_key` of the model in the config",
            config.provider
        );
    }
    Ok((connect(&config)?, config))
}

/// Returns the settings with the key and the address of the environment, unless they have their own (ML-10).
pub(crate) fn completed(mut config: ModelConfig) -> ModelConfig {
    if config.api_key.as_ref().is_none_or(|key| key.reveal().trim().is_empty()) {
        let key = config.provider.info().key_variable.and_then(filled);
        config.api_key = key.map(|key| Secret::new(key.trim()));
    }
    if config.provider == Provider::Ollama && config.base_url.is_none() {
        config.base_url = filled(local::VARIABLE).map(|host| host::of_ollama(&host));
    }
    // The key and the address of the environment belong together.
    if config.base_url.is_none() {
        config.base_url = config.provider.info().base_url_variable.and_then(filled);
    }
    config
}

/// The variable `name`, unless it is blank.
fn filled(name: &str) -> Option<String> {
    environment::variable(name).ok().filter(|value| !value.trim().is_empty())
}

/// Returns the variable to set if a key is needed and missing: providers need one, local servers do not.
pub(crate) fn missing_key(config: &ModelConfig) -> Option<&'static str> {
    let provider = config.provider.info();
    let variable = provider.key_variable?;
    let home = authority(provider.default_base_url);
    let is_home = config.base_url.as_deref().is_none_or(|url| authority(url) == home);
    // With headers in the config, the key may be one of them.
    let has_none = config.api_key.is_none() && config.headers.is_empty();
    (is_home && has_none).then_some(variable)
}

/// Services that people take for providers, and where each speaks OpenAI's API. Not those that are names of Ollama's models,
/// such as `mistral`.
const OPENAI_SERVICES: [(&str, &str); 4] = [
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("groq", "https://api.groq.com/openai/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
];

fn unknown(wanted: &str, loaded: &LoadedConfig) -> anyhow::Error {
    let known: Vec<&str> = loaded.settings.models.keys().map(String::as_str).collect();
    let mut text = format!("there is no model `{wanted}`");
    if let Some((provider, rest)) = wanted.split_once(':') {
        let providers = Provider::ALL.iter().chain([&Provider::Script]).map(|one| one.code());
        let service = OPENAI_SERVICES.iter().find(|(name, _)| *name == provider);
        text = match (service, close_names(provider, providers).first()) {
            (Some((_, url)), _) => format!(
                "{text}; that service speaks OpenAI's API: `openai:{rest}@{url}`, with its key in OPENAI_API_KEY"
            ),
            (None, Some(near)) => format!("{text}; did you mean `{near}:{rest}`?"),
            (None, None) => format!("{text}; did you mean `ollama:{wanted}`?"),
        };
    } else if let Some(near) = close_names(wanted, known.iter().copied().chain([DEMO])).first() {
        text = format!("{text}; did you mean `{near}`?");
    }
    let models = match known.is_empty() {
        true => "the config has no [models.*]".to_owned(),
        false => format!("the config has {}", known.join(", ")),
    };
    let others: Vec<_> =
        Provider::ALL.iter().map(|provider| format!("{provider}:MODEL[@URL]")).collect();
    anyhow!("{text}\n       {models}; others are {}, script:FILE and demo", others.join(", "))
}
