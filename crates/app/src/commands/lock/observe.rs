//! What servers say now: all their definitions, whatever the lock has.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::join_all;
use serde_json::Value;
use switchboard_lock::{DefinitionKind, Identity, LaunchedProgram, LockableDefinition};
use switchboard_mcp_client::{Server, ServerConfig, Session};
use switchboard_mcp_wire::List;
use switchboard_toolcall::Principal;
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    assembly::App,
    connections::{Needs, with_servers},
    environment,
    interrupt::unless_interrupted,
    settings::LoadedConfig,
};

/// A server, and what it says now.
pub(in crate::commands) struct ObservedServer {
    pub(in crate::commands) name: String,
    /// Why it could not be reached, if it could not.
    pub(in crate::commands) outcome: Result<ObservedDefinitions, String>,
}

/// What a server is, and says.
pub(in crate::commands) struct ObservedDefinitions {
    pub(in crate::commands) identity: Identity,
    pub(in crate::commands) definitions: Vec<LockableDefinition>,
}

/// Starts the servers, or `only` these, and reads everything that they say.
///
/// # Errors
/// Something in the config cannot be used, or somebody pressed Ctrl-C.
pub(in crate::commands) fn observe(
    loaded: &LoadedConfig,
    only: Option<&[String]>,
    is_watched: bool,
) -> anyhow::Result<Vec<ObservedServer>> {
    let mut app = App::build(loaded)?;
    app.is_quiet = true;
    app.ignores_lock = true;
    let needs = match only {
        Some([one]) => Needs::One(one),
        _ => Needs::All,
    };
    let limit = loaded.settings.executor.timeout.0;
    with_servers(&app, loaded, needs, async |connections| {
        unless_interrupted(async {
            connections.wait_until_ready(is_watched).await;
            let servers = connections.all().into_iter();
            let wanted = servers.filter(|server| {
                only.is_none_or(|only| only.iter().any(|name| **name == **server.name()))
            });
            let observed = wanted.map(async |server| {
                // Servers that are still connecting may take their time: a package may be installed.
                server.wait_until_ready().await;
                let outcome = match timeout(limit, definitions(&server)).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err("it does not answer".to_owned()),
                };
                ObservedServer { name: server.name().to_string(), outcome }
            });
            Ok(join_all(observed).await)
        })
        .await
    })
}

async fn definitions(server: &Arc<Server>) -> Result<ObservedDefinitions, String> {
    let own = match server.is_per_user() {
        true => server.for_user(&Principal::Owner).map_err(|error| error.for_model)?,
        false => server.clone(),
    };
    let session = own.session().await.map_err(|error| match error.hint {
        Some(hint) => format!("{}; {hint}", error.for_model),
        None => error.for_model,
    })?;
    let definitions = of_session(&session).await?;
    let config = server.config().clone();
    let identity = spawn_blocking(move || identity(&config)).await.unwrap_or_default();
    let said = |key: &str| session.info()[key].as_str().map(str::to_owned);
    let identity = Identity { name: said("name"), version: said("version"), ..identity };
    Ok(ObservedDefinitions { identity, definitions })
}

async fn of_session(session: &Session) -> Result<Vec<LockableDefinition>, String> {
    let mut all = Vec::new();
    for (list, kind) in [
        (List::Tools, DefinitionKind::Tool),
        (List::Prompts, DefinitionKind::Prompt),
        (List::ResourceTemplates, DefinitionKind::ResourceTemplate),
    ] {
        let listed = session.list(list).await;
        let entries = match listed {
            Ok(listed) => listed.entries,
            // A server may declare resources and know no templates.
            Err(_) if list == List::ResourceTemplates => Vec::new(),
            Err(failure) => return Err(format!("it sent no list of {}: {failure}", list.key())),
        };
        all.extend(entries.iter().filter_map(|entry: &Value| LockableDefinition::new(kind, entry)));
    }
    all.extend(
        session
            .instructions()
            .filter(|text| !text.is_empty())
            .map(LockableDefinition::instructions),
    );
    Ok(all)
}

/// Finds out which program or address a server is.
fn identity(config: &ServerConfig) -> Identity {
    if let Some(url) = &config.url {
        return Identity::of_url(url);
    }
    let search = config.env.get("PATH").cloned().or_else(|| environment::variable("PATH").ok());
    let search = search.map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let home = environment::path("HOME");
    let named =
        |name: &str| config.env.get(name).map(PathBuf::from).or_else(|| environment::path(name));
    let of_home = |rest: &str| home.as_deref().map(|home: &Path| home.join(rest));
    Identity::of_program(&LaunchedProgram {
        command: config.command.as_deref().unwrap_or_default(),
        args: &config.args,
        cwd: config.cwd.as_deref(),
        search,
        npm_cache: named("npm_config_cache").or_else(|| of_home(".npm")),
        uv_cache: named("UV_CACHE_DIR")
            .or_else(|| environment::path("XDG_CACHE_HOME").map(|cache| cache.join("uv")))
            .or_else(|| of_home(".cache/uv")),
    })
}
