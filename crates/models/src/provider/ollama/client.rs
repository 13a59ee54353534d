//! Asks an Ollama server.

use switchboard_toolcall::BoxFuture;

use super::show;
use crate::{
    Model, ModelConfig, ModelError, Price, Provider, Request, StopReason, Turn,
    exchange::ModelExchange, http, model::ModelEvents,
};

/// A model that Ollama runs.
pub struct OllamaClient(ModelExchange);

impl OllamaClient {
    /// Creates a client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        ModelExchange::new(Provider::Ollama, config, "/api/chat", http::bearer(config)).map(Self)
    }
}

impl Model for OllamaClient {
    fn provider(&self) -> Provider {
        Provider::Ollama
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
        Box::pin(async move {
            let exchange = &self.0;
            if exchange.images.is_in_question(request.messages) {
                exchange.images.set_takes_images(show::can(&exchange.config, "vision").await);
            }
            let first = exchange.ask(request, events).await?;
            if !was_swallowed(&first, request) {
                return Ok(first);
            }
            // Qwen's parsers drop a call that is not closed, and say nothing at all.
            tracing::warn!("the model answered nothing; it is asked once more");
            let mut second = exchange.ask(request, events).await?;
            second.usage += first.usage;
            Ok(second)
        })
    }
}

/// Whether an empty answer may have been a call.
fn was_swallowed(turn: &Turn, request: &Request<'_>) -> bool {
    request.offers_tools()
        && turn.stop == StopReason::Answer
        && turn.message.tool_calls.is_empty()
        && turn.message.content.trim().is_empty()
}
