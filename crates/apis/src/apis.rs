//! All APIs of the config.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use switchboard_oauth::OauthDeps;
use switchboard_runtime::{AddError, ServerSettings, ToolManager};

use crate::{Api, ApiConfig};

/// The APIs, in the config's order.
pub struct Apis {
    tools: Arc<ToolManager>,
    oauth: Option<OauthDeps>,
    all: Mutex<Vec<Arc<Api>>>,
}

/// APIs of a new config that are not used yet.
pub struct PreparedApis {
    all: Vec<Arc<Api>>,
    new: Vec<Arc<Api>>,
}

impl Apis {
    /// Registers the APIs, and starts to load those that are needed. Does not wait for them. `skipped` has the reasons of
    /// those that cannot be used. Without `oauth` no API is signed in to.
    ///
    /// # Errors
    /// A name contains the separator.
    pub fn start(
        configs: &IndexMap<String, ApiConfig>,
        skipped: &IndexMap<String, String>,
        tools: &Arc<ToolManager>,
        oauth: Option<OauthDeps>,
        is_needed: impl Fn(&str) -> bool,
    ) -> Result<Self, AddError> {
        let apis = Self { tools: tools.clone(), oauth, all: Mutex::default() };
        let prepared = apis.prepare(configs, skipped);
        for api in &prepared.all {
            tools.add_server(api.name(), api.settings())?;
            api.start(is_needed(api.name()));
        }
        *apis.lock() = prepared.all;
        Ok(apis)
    }

    /// Returns the APIs of a new config; those that are the same as before stay as they are.
    pub fn prepare(
        &self,
        configs: &IndexMap<String, ApiConfig>,
        skipped: &IndexMap<String, String>,
    ) -> PreparedApis {
        let before = self.all();
        let mut prepared = PreparedApis { all: Vec::new(), new: Vec::new() };
        for (name, config) in configs {
            let reason = skipped.get(name).map(String::as_str);
            let same = before
                .iter()
                .find(|api| **api.name() == **name && api.has_same_config(config, reason));
            let api = same.cloned().unwrap_or_else(|| {
                let api = Api::new(name, config.clone(), &self.tools, reason, self.oauth.as_ref());
                prepared.new.push(api.clone());
                api
            });
            prepared.all.push(api);
        }
        prepared
    }

    /// Uses the prepared APIs from now on.
    pub fn exchange(&self, prepared: PreparedApis) {
        for api in &prepared.new {
            api.start(true);
        }
        *self.lock() = prepared.all;
    }

    /// Returns the APIs, in order.
    pub fn all(&self) -> Vec<Arc<Api>> {
        self.lock().clone()
    }

    /// Returns one API by its name.
    pub fn get(&self, name: &str) -> Option<Arc<Api>> {
        self.lock().iter().find(|api| **api.name() == *name).cloned()
    }

    /// Waits until no sign-in is being renewed, and lets no other renewal begin: the process is about to exit, and a new refresh
    /// token must not be lost.
    pub async fn close(&self) {
        for api in self.all() {
            api.end().await;
        }
    }

    /// Waits until all that are being loaded are, or cannot be.
    pub async fn wait_until_ready(&self) {
        for api in self.all() {
            api.wait_until_ready().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Api>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PreparedApis {
    /// Returns them as servers, for callers that replace all servers.
    pub fn settings(&self) -> Vec<(Arc<str>, ServerSettings)> {
        self.all.iter().map(|api| (api.name().clone(), api.settings())).collect()
    }
}
