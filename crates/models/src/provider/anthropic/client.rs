//! Asks Anthropic, or a server that speaks its API.

use switchboard_toolcall::BoxFuture;

use super::context_management;
use crate::{
    Model, ModelConfig, ModelError, Price, Provider, Request, Secret, Turn,
    exchange::ModelExchange, found_tools, model::ModelEvents,
};

/// The version of the API that we speak.
const VERSION: &str = "2023-06-01";

/// A model behind the Messages API.
pub struct AnthropicClient(ModelExchange);

impl AnthropicClient {
    /// Creates a client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let mut config = config.clone();
        if let Some(beta) = context_management::beta(&config) {
            config.headers.retain(|name, _| !name.eq_ignore_ascii_case(context_management::BETA));
            config.headers.insert(context_management::BETA.to_owned(), Secret::new(beta));
        }
        let headers = headers(&config);
        ModelExchange::new(Provider::Anthropic, &config, "/v1/messages", headers).map(Self)
    }
}

/// The headers with version and key.
pub(super) fn headers(config: &ModelConfig) -> Vec<(&'static str, String)> {
    let key = config.api_key.as_ref().map(|key| ("x-api-key", key.reveal().to_owned()));
    [("anthropic-version", VERSION.to_owned())].into_iter().chain(key).collect()
}

impl Model for AnthropicClient {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn name(&self) -> &str {
        &self.0.config.model
    }

    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(self.0.window())
    }

    fn known_window(&self) -> Option<u64> {
        self.0.known_window()
    }

    fn defers_found_tools(&self) -> bool {
        found_tools::are_deferred(&self.0.config)
    }

    fn price(&self) -> Option<Price> {
        self.0.config.price
    }

    fn manages_context(&self) -> bool {
        self.0.config.context_management.is_some()
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(self.0.ask(request, events))
    }
}
