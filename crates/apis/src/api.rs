//! One API: its description is loaded when it is needed, and again until that succeeds.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_oauth::OauthDeps;
use switchboard_runtime::{ServerLink, ServerSettings, ToolManager};
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};
use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::{ApiConfig, Description, sign_in::ApiSignIn};

/// How long to wait before a description is fetched again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// How many skipped operations are logged one by one.
const LOGGED: usize = 10;

/// An API whose operations are tools.
pub struct Api {
    name: Arc<str>,
    config: ApiConfig,
    tools: Weak<ToolManager>,
    /// When the description's file was written, so that a changed one is read again.
    stamp: Option<SystemTime>,
    state: watch::Sender<ApiState>,
    wanted: Arc<Notify>,
    oauth: Option<OauthDeps>,
    /// The sign-ins to it; unset until the description is loaded.
    sign_in: Mutex<Option<Arc<ApiSignIn>>>,
    task: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// The state of an API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiState {
    /// Nobody has needed it yet.
    Idle,
    /// Its description is being loaded.
    Loading,
    /// Its tools can be called.
    Ready(Arc<ApiInfo>),
    /// Its description cannot be loaded; tried again later.
    Failed(Arc<str>),
    /// A value that its settings need is missing.
    Skipped(Arc<str>),
}

/// What is known of an API once its description is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiInfo {
    /// What it calls itself.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The version of OpenAPI or Swagger.
    pub format: String,
    /// Operations that are no tools, with the reason.
    pub skipped: Vec<String>,
}

impl Api {
    pub(crate) fn new(
        name: &str,
        config: ApiConfig,
        tools: &Arc<ToolManager>,
        skipped: Option<&str>,
        oauth: Option<&OauthDeps>,
    ) -> Arc<Self> {
        let stamp = stamp(&config);
        let state = match skipped {
            Some(reason) => ApiState::Skipped(reason.into()),
            None => ApiState::Idle,
        };
        Arc::new(Self {
            name: name.into(),
            config,
            tools: Arc::downgrade(tools),
            stamp,
            state: watch::Sender::new(state),
            wanted: Arc::default(),
            oauth: oauth.cloned(),
            sign_in: Mutex::default(),
            task: Mutex::default(),
        })
    }

    /// Starts the task that loads the description: at once, or as soon as somebody needs it.
    pub(crate) fn start(self: &Arc<Self>, at_once: bool) {
        if matches!(*self.state.borrow(), ApiState::Skipped(_)) {
            return;
        }
        if at_once {
            self.state.send_replace(ApiState::Loading);
            self.wanted.notify_one();
        }
        // The task must not keep the API alive.
        let task = tokio::spawn(run(Arc::downgrade(self), self.wanted.clone()));
        let mut own = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(AbortOnDropHandle::new(task));
    }

    /// Returns its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns its state.
    pub fn state(&self) -> ApiState {
        self.state.borrow().clone()
    }

    /// Returns its settings.
    pub fn config(&self) -> &ApiConfig {
        &self.config
    }

    pub(crate) fn sign_in(&self) -> Option<Arc<ApiSignIn>> {
        self.sign_in.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether it would be the same with these settings.
    pub(crate) fn has_same_config(&self, config: &ApiConfig, skipped: Option<&str>) -> bool {
        let reason = match &*self.state.borrow() {
            ApiState::Skipped(reason) => Some(reason.clone()),
            _ => None,
        };
        self.config == *config && reason.as_deref() == skipped && self.stamp == stamp(config)
    }

    pub(crate) fn settings(self: &Arc<Self>) -> ServerSettings {
        ServerSettings { link: Some(self.clone()), ..ServerSettings::default() }
    }

    /// Waits until the description is loaded or cannot be.
    pub async fn wait_until_ready(&self) {
        let is_settled = |state: &ApiState| !matches!(state, ApiState::Loading);
        // Cannot fail: the sender is a field of `self`.
        let _ = self.state.subscribe().wait_for(is_settled).await;
    }

    /// Loads the description and registers its tools.
    async fn load(self: &Arc<Self>) -> ApiState {
        let Some(tools) = self.tools.upgrade() else { return ApiState::Idle };
        let (config, separator) = (&self.config, tools.separator());
        let loaded = Description::load(&self.name, config, separator, self.oauth.as_ref()).await;
        let description = match loaded {
            Ok(description) => description,
            Err(reason) => {
                warn!(api = &*self.name, "API '{}' cannot be used: {reason}", self.name);
                return ApiState::Failed(reason.into());
            }
        };
        let Description { tools: made, skipped, title, version, format, sign_in, .. } = description;
        *self.sign_in.lock().unwrap_or_else(PoisonError::into_inner) = sign_in;
        let mut aside: Vec<_> = skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.operation, skipped.reason))
            .collect();
        self.log(&aside);
        let (checking, name) = (tools.clone(), self.name.clone());
        let checked = spawn_blocking(move || checking.check_server_tools(&name, made));
        let Ok(checked) = checked.await else {
            return ApiState::Failed("its tools could not be checked".into());
        };
        let link: Arc<dyn ServerLink> = self.clone();
        if tools.is_linked(&self.name, &link) {
            let refused = tools.put_server_tools(checked);
            aside.extend(refused.iter().map(ToString::to_string));
        }
        ApiState::Ready(Arc::new(ApiInfo { title, version, format, skipped: aside }))
    }

    fn unavailable(&self, how: &str, reason: &str) -> ToolError {
        let text = format!("API '{}' is {how}: {reason}", self.name);
        ToolError::new(ErrorKind::Unavailable, text)
    }

    /// Says once what is skipped.
    fn log(&self, skipped: &[String]) {
        for reason in skipped.iter().take(LOGGED) {
            warn!(api = &*self.name, "an operation of API '{}' is skipped: {reason}", self.name);
        }
        if let Some(more) = skipped.len().checked_sub(LOGGED).filter(|more| *more > 0) {
            warn!(
                api = &*self.name,
                "{more} more of API '{}' are skipped; `switchboard doctor` lists them", self.name
            );
        }
    }
}

async fn run(api: Weak<Api>, wanted: Arc<Notify>) {
    wanted.notified().await;
    let mut wait = RETRY.0;
    loop {
        let Some(this) = api.upgrade() else { return };
        let state = this.load().await;
        let is_loaded = matches!(state, ApiState::Ready(_));
        this.state.send_replace(state);
        if is_loaded {
            info!(api = &*this.name, "API '{}' is loaded", this.name);
            return;
        }
        drop(this);
        sleep(wait).await;
        wait = (wait * 2).min(RETRY.1);
    }
}

/// When the description was written, if it is a file.
fn stamp(config: &ApiConfig) -> Option<SystemTime> {
    fs::metadata(&config.openapi).ok()?.modified().ok()
}

impl ServerLink for Api {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            let is_idle = self.state.send_if_modified(|state| {
                let is_idle = *state == ApiState::Idle;
                if is_idle {
                    *state = ApiState::Loading;
                }
                is_idle
            });
            if is_idle {
                self.wanted.notify_one();
            }
            self.wait_until_ready().await;
            match self.state() {
                ApiState::Failed(reason) => Err(self.unavailable("unavailable", &reason)),
                ApiState::Skipped(reason) => Err(self.unavailable("skipped", &reason)),
                _ => Ok(()),
            }
        })
    }

    fn status(&self) -> Value {
        let mut status = json!({"type": "openapi"});
        let (state, error) = match self.state() {
            ApiState::Idle => ("idle", None),
            ApiState::Loading => ("connecting", None),
            ApiState::Failed(reason) => ("failed", Some(reason)),
            ApiState::Skipped(reason) => ("skipped", Some(reason)),
            ApiState::Ready(info) => {
                status["server"] = json!({"name": info.title, "version": info.version});
                status["protocol"] = json!(info.format);
                status["skipped_tools"] = json!(info.skipped);
                ("ready", None)
            }
        };
        status["state"] = state.into();
        if let Some(error) = error {
            status["error"] = json!(&*error);
        }
        status
    }
}
