//! Which model is asked: the one of `-m`, of the config, or of an Ollama on this machine (SPEC ML-8 to ML-10).

mod advice;
mod host;
mod local;
mod offer;

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow, bail};
use switchboard_gateway::Models;
use switchboard_models::{Model, ModelConfig, Provider, Script, Secret, connect};
use switchboard_runtime::lookup::close_names;
use switchboard_toolcall::ToolPatterns;

use crate::{environment, settings::Loaded};

pub(crate) use advice::{after_failure, after_overflow};
pub(crate) use host::authority;
pub(crate) use local::probe;
pub(crate) use offer::tell_unmatched;

/// A model that is ready to be asked.
#[derive(Clone)]
pub(crate) struct ChosenModel {
    /// As people name it: what `-m` takes.
    pub(crate) name: String,
    pub(crate) model: Arc<dyn Model>,
    /// The tools that its config offers it, if it says so (ML-9).
    pub(crate) tools: Option<ToolPatterns>,
}

/// Finds the model that `-m` names, or else the first of the config that is not skipped, or else one of a local Ollama.
///
/// # Errors
/// There is no such model, or nothing can be asked without more settings: the text says which.
pub(crate) async fn choose(wanted: Option<&str>, loaded: &Loaded) -> anyhow::Result<ChosenModel> {
    let models = &loaded.settings.models;
    let skipped = loaded.skipped.models.keys().find_map(|name| loaded.skipped.model(name));
    match (wanted, models.first(), skipped) {
        (Some(wanted), ..) => named(wanted, loaded),
        (None, Some((name, config)), _) => configured(name, config, loaded),
        (None, None, Some(skipped)) => bail!(skipped),
        (None, None, None) => described(local::find().await?),
    }
}

/// The model of a name: one of the config's, or one that says itself where it is.
fn named(wanted: &str, loaded: &Loaded) -> anyhow::Result<ChosenModel> {
    if let Some(config) = loaded.settings.models.get(wanted) {
        return configured(wanted, config, loaded);
    }
    if let Some(skipped) = loaded.skipped.model(wanted) {
        bail!(skipped);
    }
    match wanted.split_once(':') {
        Some(("script", file)) => script(wanted, file),
        Some((provider, rest)) => match provider.parse::<Provider>() {
            Ok(provider) => described(place_of(provider, rest)),
            Err(_) => Err(unknown(wanted, loaded)),
        },
        None => Err(unknown(wanted, loaded)),
    }
}

/// `MODEL` or `MODEL@URL`; names of models may have an `@` of their own.
fn place_of(provider: Provider, model: &str) -> ModelConfig {
    let place = ["@http://", "@https://"].iter().find_map(|mark| model.rfind(mark));
    let (model, base_url) = match place {
        Some(at) => (&model[..at], Some(model[at + 1..].to_owned())),
        None => (model, None),
    };
    ModelConfig { base_url, ..ModelConfig::new(provider, model) }
}

/// The script that needs no file: `-m script:demo`.
const DEMO: &str = include_str!("model/demo.json");

/// `demo`, or a file; one that is called `demo` is `./demo`.
fn script(wanted: &str, file: &str) -> anyhow::Result<ChosenModel> {
    let script = match file {
        "demo" => Script::built_in(file, DEMO)?,
        _ => Script::load(Path::new(file))?,
    };
    Ok(ChosenModel { name: wanted.to_owned(), model: Arc::new(script), tools: None })
}

fn configured(name: &str, config: &ModelConfig, loaded: &Loaded) -> anyhow::Result<ChosenModel> {
    let place = || format!("{}: model `{name}`", loaded.place_of_model(name));
    let tools = config.tools.as_deref().map(ToolPatterns::new).transpose();
    let tools = tools.context("`tools`").with_context(place)?;
    let model = ready(config.clone()).with_context(place)?;
    Ok(ChosenModel { name: name.to_owned(), model, tools })
}

/// The models of the config, for clients of the gateway; each is connected when it is first asked.
///
/// # Errors
/// A pattern of a model's `tools` is none.
pub(crate) fn for_chat(loaded: &Loaded) -> anyhow::Result<Models> {
    let mut models = Models::new(loaded.settings.agent.clone());
    for (name, config) in &loaded.settings.models {
        let place = || format!("{}: model `{name}`", loaded.place_of_model(name));
        let tools = config.tools.as_deref().map(ToolPatterns::new).transpose();
        let tools = tools.context("`tools`").with_context(place)?;
        let config = config.clone();
        let connect = move || ready(config.clone()).map_err(Into::into);
        models.add(name, tools, Box::new(connect));
    }
    for name in loaded.skipped.models.keys() {
        models.skip(name, loaded.skipped.model(name).unwrap_or_default());
    }
    Ok(models)
}

/// A model that no config knows.
fn described(config: ModelConfig) -> anyhow::Result<ChosenModel> {
    let mut name = format!("{}:{}", config.provider, config.model);
    if let Some(url) = &config.base_url {
        name = format!("{name}@{url}");
    }
    let model = ready(config).with_context(|| format!("model `{name}`"))?;
    Ok(ChosenModel { name, model, tools: None })
}

/// The client of a model, once the environment has given what its settings left out.
fn ready(config: ModelConfig) -> anyhow::Result<Arc<dyn Model>> {
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
    Ok(connect(&config)?)
}

/// The settings with the key and the address of the environment, if they have none (ML-10).
pub(crate) fn completed(mut config: ModelConfig) -> ModelConfig {
    let variable =
        |name: &str| environment::variable(name).ok().filter(|value| !value.trim().is_empty());
    if config.api_key.as_ref().is_none_or(|key| key.reveal().trim().is_empty()) {
        let key = config.provider.info().key_variable.and_then(variable);
        config.api_key = key.map(|key| Secret::new(key.trim()));
    }
    if config.provider == Provider::Ollama && config.base_url.is_none() {
        config.base_url = variable(local::VARIABLE).map(|host| host::of_ollama(&host));
    }
    config
}

/// The variable to set where a key is needed and missing: the providers themselves want one, local servers do not.
pub(crate) fn missing_key(config: &ModelConfig) -> Option<&'static str> {
    let provider = config.provider.info();
    let variable = provider.key_variable?;
    let home = authority(provider.default_base_url);
    let is_home = config.base_url.as_deref().is_none_or(|url| authority(url) == home);
    // Whoever writes headers may well write the key there.
    let has_none = config.api_key.is_none() && config.headers.is_empty();
    (is_home && has_none).then_some(variable)
}

fn unknown(wanted: &str, loaded: &Loaded) -> anyhow::Error {
    let known: Vec<&str> = loaded.settings.models.keys().map(String::as_str).collect();
    let mut text = format!("there is no model `{wanted}`");
    if let Some((provider, rest)) = wanted.split_once(':') {
        let providers = Provider::ALL.iter().map(|provider| provider.code()).chain(["script"]);
        match close_names(provider, providers).first() {
            Some(near) => text = format!("{text}; did you mean `{near}:{rest}`?"),
            None => text = format!("{text}; did you mean `ollama:{wanted}`?"),
        }
    } else if let Some(near) = close_names(wanted, known.iter().copied()).first() {
        text = format!("{text}; did you mean `{near}`?");
    }
    let models = match known.is_empty() {
        true => "the config has no [models.*]".to_owned(),
        false => format!("the config has {}", known.join(", ")),
    };
    let others: Vec<_> =
        Provider::ALL.iter().map(|provider| format!("{provider}:MODEL[@URL]")).collect();
    anyhow!("{text}\n       {models}; others are {} and script:FILE", others.join(", "))
}
