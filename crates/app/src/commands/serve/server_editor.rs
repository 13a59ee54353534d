//! Adds, removes, enables and disables servers over REST, with the code of the commands.

use std::path::PathBuf;

use switchboard_gateway::{AddedServer, EditError, NewServer, ServerEditor};
use switchboard_runtime::{lookup::close_names, toolcall::BoxFuture};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::spawn_blocking,
};

use crate::{
    cli::{AddArgs, PlaceArgs},
    commands::{
        add::{NoAnswer, TriedServer, name_of, try_server},
        edit_servers,
        secret_values::SecretChoice,
    },
    settings::{LoadedConfig, edit::ConfigEditor, own_config},
};

/// A request to apply the config; receives the result.
pub(super) type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// Changes the servers of the config that this gateway has.
pub(super) struct ConfigServers {
    file: PathBuf,
    reload: mpsc::Sender<ReloadRequest>,
    /// Held while the config is changed, so that no other change is lost.
    writing: Mutex<()>,
}

impl ConfigServers {
    /// Returns the editor and where its requests arrive; `None` if there is no config to write.
    pub(super) fn new(loaded: &LoadedConfig) -> (Option<Self>, mpsc::Receiver<ReloadRequest>) {
        let (reload, requests) = mpsc::channel(1);
        let is_foreign = loaded.replay.is_some() || loaded.is_attached;
        let file = loaded.file.clone().or_else(own_config).filter(|_| !is_foreign);
        (file.map(|file| Self { file, reload, writing: Mutex::default() }), requests)
    }

    async fn add_server(&self, server: NewServer) -> Result<AddedServer, EditError> {
        let add = add_args(server)?;
        let config = self.open()?;
        let name = name_of(&add, &config).map_err(|error| wrong(&error))?;
        if config.get(&name).is_some() {
            return Err(name_conflict(&name));
        }
        let tried = blocking(move || try_server(&add, &config, SecretChoice::Vault)).await?;
        let tried =
            tried.map_err(|error| wrong(&error))?.map_err(|NoAnswer { name, reason }| {
                EditError::NoAnswer(format!("server `{name}` does not answer: {reason}"))
            })?;
        let _writing = self.writing.lock().await;
        // It may have changed while the server was tried.
        let mut config = self.open()?;
        if config.get(&tried.name).is_some() {
            return Err(name_conflict(&tried.name));
        }
        let (notes, TriedServer { name, tools, .. }) = blocking(move || {
            let notes = tried.write(&mut config)?;
            anyhow::Ok((notes, tried))
        })
        .await?
        .map_err(|error| not_written(&error))?;
        self.apply().await?;
        Ok(AddedServer { name, tools: tools.unwrap_or_default(), notes })
    }

    async fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut ConfigEditor) -> bool,
    ) -> Result<(), EditError> {
        let _writing = self.writing.lock().await;
        let mut config = self.open()?;
        if !change(&mut config) {
            let names = config.servers();
            let close = close_names(name, names.iter().map(String::as_str)).first().copied();
            let advice = close.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let text = format!("there is no server `{name}` in the config{advice}");
            return Err(EditError::Unknown(text));
        }
        let saved = blocking(move || edit_servers::save(&config)).await?;
        saved.map_err(|error| not_written(&error))?;
        self.apply().await
    }

    fn open(&self) -> Result<ConfigEditor, EditError> {
        ConfigEditor::open(self.file.clone())
            .map_err(|error| EditError::Conflict(format!("{error:#}")))
    }

    /// Applies the config as it is now.
    async fn apply(&self) -> Result<(), EditError> {
        let (tell, told) = oneshot::channel();
        let gone =
            || EditError::Conflict("written; the gateway stops and does not apply it".into());
        self.reload.send(tell).await.map_err(|_| gone())?;
        let refused =
            |error| EditError::Conflict(format!("written, but it does not apply: {error}"));
        told.await.map_err(|_| gone())?.map_err(refused)
    }
}

impl ServerEditor for ConfigServers {
    fn add(&self, server: NewServer) -> BoxFuture<'_, Result<AddedServer, EditError>> {
        Box::pin(self.add_server(server))
    }

    fn enable(&self, name: String, is_enabled: bool) -> BoxFuture<'_, Result<(), EditError>> {
        Box::pin(async move { self.change(&name, |config| config.enable(&name, is_enabled)).await })
    }

    fn remove(&self, name: String) -> BoxFuture<'_, Result<(), EditError>> {
        Box::pin(async move { self.change(&name, |config| config.remove(&name)).await })
    }
}

/// Converts the request to the arguments of `switchboard add`.
fn add_args(server: NewServer) -> Result<AddArgs, EditError> {
    let NewServer { name, source, command, env, headers, sse } = server;
    let (name, source) = match (name, source) {
        (Some(name), source) => (name, source),
        (None, Some(source)) => (source, None),
        (None, None) => {
            return Err(EditError::Wrong("a server with a command needs a name".to_owned()));
        }
    };
    let pairs = |pairs: indexmap::IndexMap<String, String>, between: &str| {
        pairs.into_iter().map(|(name, value)| format!("{name}{between}{value}")).collect()
    };
    Ok(AddArgs {
        name,
        source,
        command,
        header: pairs(headers, ": "),
        env: pairs(env, "="),
        sse,
        no_check: false,
        plain_secrets: false,
        sandbox: None,
        replace: false,
        place: PlaceArgs { here: false },
        json: true,
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EditError> {
    spawn_blocking(work).await.map_err(|error| EditError::NotWritten(error.to_string()))
}

fn wrong(error: &anyhow::Error) -> EditError {
    EditError::Wrong(format!("{error:#}"))
}

fn name_conflict(name: &str) -> EditError {
    EditError::Conflict(format!("server `{name}` is in the config already"))
}

fn not_written(error: &anyhow::Error) -> EditError {
    EditError::NotWritten(format!("{error:#}"))
}
