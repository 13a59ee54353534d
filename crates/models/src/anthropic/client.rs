//! Asks Anthropic, or who speaks as it does.

use switchboard_toolcall::BoxFuture;

use super::{convert, wire::Answer};
use crate::{
    Model, ModelConfig, ModelError, Provider, Request, Turn, exchange::Exchange, http::Endpoint,
    lower, model::Events,
};

/// The version of the API that we speak.
const VERSION: &str = "2023-06-01";

/// A model behind the Messages API.
pub struct AnthropicClient {
    config: ModelConfig,
    exchange: Exchange,
}

impl AnthropicClient {
    /// A client by these settings; opens no connection yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let mut headers = vec![("anthropic-version", VERSION.to_owned())];
        headers.extend(config.api_key.as_ref().map(|key| ("x-api-key", key.reveal().to_owned())));
        let endpoint = Endpoint::new(config, "/v1/messages", headers)?;
        Ok(Self { exchange: Exchange::new(endpoint, config), config: config.clone() })
    }
}

impl Model for AnthropicClient {
    fn provider(&self) -> Provider {
        Provider::Anthropic
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
            let lowered = lower::tools(Provider::Anthropic, &request.tools);
            let body = |request: &Request<'_>| convert::request(&self.config, request, &lowered);
            self.exchange.ask::<Answer>(request, &lowered, events, body).await
        })
    }
}
