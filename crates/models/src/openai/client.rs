//! Asks an OpenAI-compatible server.

use switchboard_toolcall::BoxFuture;

use super::{convert, wire::Answer};
use crate::{
    Model, ModelConfig, ModelError, Provider, Request, Turn, exchange::Exchange, http::Endpoint,
    lower, model::Events,
};

/// A model behind chat completions.
pub struct OpenAiClient {
    config: ModelConfig,
    exchange: Exchange,
}

impl OpenAiClient {
    /// A client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let key = config.api_key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
        let credentials = key.into_iter().map(|key| ("authorization", key)).collect();
        let endpoint = Endpoint::new(config, "/chat/completions", credentials)?;
        Ok(Self { exchange: Exchange::new(endpoint, config), config: config.clone() })
    }
}

impl Model for OpenAiClient {
    fn provider(&self) -> Provider {
        Provider::OpenAi
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
            let lowered = lower::tools(Provider::OpenAi, &request.tools);
            let body = |request: &Request<'_>| convert::request(&self.config, request, &lowered);
            self.exchange.ask::<Answer>(request, &lowered, events, body).await
        })
    }
}
