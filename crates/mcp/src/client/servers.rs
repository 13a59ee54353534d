//! All servers of a config: started side by side, none waiting for another.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::join_all;
use indexmap::IndexMap;
use switchboard_runtime::{ServerSettings, ToolManager};
use tokio::task::JoinHandle;

use super::{
    config::ServerConfig,
    server::{Server, Surroundings},
};

/// The servers of a config, each in a task of its own.
pub struct Servers {
    servers: IndexMap<Arc<str>, Arc<Server>>,
    tasks: std::sync::Mutex<HashMap<Arc<str>, JoinHandle<()>>>,
}

/// Why the servers cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("server `{server}`: {problem}")]
pub struct ConfigError {
    /// The server.
    pub server: String,
    /// What is wrong with its settings.
    pub problem: String,
}

impl Servers {
    /// Makes the servers known to the manager, in order, and starts to connect. Waits for none.
    ///
    /// # Errors
    /// The settings of a server make no sense.
    pub fn start(
        configs: IndexMap<String, ServerConfig>,
        tools: &Arc<ToolManager>,
        around: &Surroundings,
    ) -> Result<Self, ConfigError> {
        let mut servers = IndexMap::new();
        for (name, config) in configs {
            if !config.is_enabled() {
                continue;
            }
            let wrong = |problem: String| ConfigError { server: name.clone(), problem };
            let settings = ServerSettings {
                prefix: config.prefix.clone(),
                max_concurrent: config
                    .max_concurrent
                    .unwrap_or(ServerSettings::default().max_concurrent),
                link: None,
            };
            let server = Server::new(&name, config, around.clone()).map_err(wrong)?;
            let settings = ServerSettings { link: Some(server.clone()), ..settings };
            tools.add_server(&name, settings).map_err(|error| wrong(error.to_string()))?;
            servers.insert(server.name().clone(), server);
        }
        let run =
            |server: &Arc<Server>| (server.name().clone(), tokio::spawn(server.clone().run()));
        let tasks = servers.values().map(run).collect();
        Ok(Self { servers, tasks: std::sync::Mutex::new(tasks) })
    }

    /// All servers, in the order of the config.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values()
    }

    /// One server by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<Server>> {
        self.servers.get(name)
    }

    /// Waits until each server is connected, given up or asleep.
    pub async fn settled(&self) {
        join_all(self.servers.values().map(|server| server.settled())).await;
    }

    /// Stops all servers and waits until nothing of them is left.
    pub async fn close(&self) {
        for server in self.servers.values() {
            server.stop();
        }
        let tasks = std::mem::take(
            &mut *self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        join_all(tasks.into_values()).await;
    }
}
