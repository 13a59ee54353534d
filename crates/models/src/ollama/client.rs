//! Asks an Ollama server.

use switchboard_toolcall::BoxFuture;

use super::{convert, show, wire::Answer};
use crate::{
    Model, ModelConfig, ModelError, Provider, Request, StopReason, Turn, exchange::Exchange,
    http::Endpoint, lower, model::Events,
};

/// A model that Ollama runs.
pub struct OllamaClient {
    config: ModelConfig,
    exchange: Exchange,
}

impl OllamaClient {
    /// A client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let key = config.api_key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
        let credentials = key.into_iter().map(|key| ("authorization", key)).collect();
        let endpoint = Endpoint::new(config, "/api/chat", credentials)?;
        Ok(Self { exchange: Exchange::new(endpoint, config), config: config.clone() })
    }
}

impl Model for OllamaClient {
    fn provider(&self) -> Provider {
        Provider::Ollama
    }

    fn name(&self) -> &str {
        &self.config.model
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: Events<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(async move {
            let lowered = lower::tools(Provider::Ollama, &request.tools);
            if self.exchange.images.is_in_question(request.messages) {
                self.exchange.images.tell(show::can(&self.config, "vision").await);
            }
            let body = |request: &Request<'_>| convert::request(&self.config, request, &lowered);
            let first = self.exchange.ask::<Answer>(request, &lowered, events, body).await?;
            if !was_swallowed(&first, request) {
                return Ok(first);
            }
            // Qwen's parsers drop a call that is not closed, and say nothing at all.
            tracing::warn!("the model answered nothing; it is asked once more");
            let mut second = self.exchange.ask::<Answer>(request, &lowered, events, body).await?;
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
