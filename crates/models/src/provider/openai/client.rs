//! Asks an OpenAI-compatible server.

use switchboard_toolcall::BoxFuture;

use crate::{
    Model, ModelConfig, ModelError, Price, Provider, Request, Turn, exchange::ModelExchange, http,
    model::ModelEvents,
};

/// A model behind chat completions.
pub struct OpenAiClient(ModelExchange);

impl OpenAiClient {
    /// Creates a client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        ModelExchange::new(Provider::OpenAi, config, "/chat/completions", http::bearer(config))
            .map(Self)
    }
}

impl Model for OpenAiClient {
    fn provider(&self) -> Provider {
        Provider::OpenAi
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

    fn price(&self) -> Option<Price> {
        self.0.config.price
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(self.0.ask(request, events))
    }
}
