//! Asks OpenAI, or a server that speaks its Responses API.

use switchboard_toolcall::BoxFuture;

use crate::{
    Model, ModelConfig, ModelError, Price, Provider, Request, Turn, exchange::ModelExchange,
    found_tools, http, model::ModelEvents,
};

/// A model behind the Responses API.
pub struct OpenAiResponsesClient(ModelExchange);

impl OpenAiResponsesClient {
    /// Creates a client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let provider = Provider::OpenAiResponses;
        ModelExchange::new(provider, config, "/responses", http::bearer(config)).map(Self)
    }
}

impl Model for OpenAiResponsesClient {
    fn provider(&self) -> Provider {
        Provider::OpenAiResponses
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
