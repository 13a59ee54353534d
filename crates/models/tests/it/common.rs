//! One helper per thing that the tests touch.

use std::sync::Mutex;

use serde_json::{Value, json};
use switchboard_models::{
    AiMessage, Arguments, Message, Model, ModelCall, ModelConfig, ModelError, ModelEvent, Provider,
    Request, StopReason, Turn, connect,
};
use switchboard_testkit::{ProviderServer, Reply};
use switchboard_toolcall::ToolSpec;

/// The address of a port that was just free, so that nobody listens there.
pub(crate) fn unused_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// What a provider's base address has behind the root.
pub(crate) fn base_path(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::OpenAiResponses => "/v1",
        _ => "",
    }
}

/// A model at a fake provider.
pub(crate) struct Setup {
    pub(crate) server: ProviderServer,
    pub(crate) model: std::sync::Arc<dyn Model>,
}

impl Setup {
    pub(crate) async fn new(provider: Provider, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(provider, replies, |_| {}).await
    }

    pub(crate) async fn with(
        provider: Provider,
        replies: impl IntoIterator<Item = Reply>,
        change: impl FnOnce(&mut ModelConfig),
    ) -> Self {
        let server = ProviderServer::start(replies).await;
        let mut config = ModelConfig::new(provider, "test-model");
        config.base_url = Some(format!("{}{}", server.url(), base_path(provider)));
        change(&mut config);
        let model = connect(&config).unwrap();
        Self { server, model }
    }

    /// Asks about the weather with one tool on offer.
    pub(crate) async fn ask(&self, stream: bool) -> Result<Turn, ModelError> {
        self.ask_after(&[Message::User("Weather?".into())], stream).await.0
    }

    /// Asks, and returns what was heard meanwhile.
    pub(crate) async fn ask_after(
        &self,
        messages: &[Message],
        stream: bool,
    ) -> (Result<Turn, ModelError>, Vec<ModelEvent>) {
        let tools = tools();
        let mut request = Request::new(messages)
            .with_tools(&tools)
            .with_validation(&|_, args| args["city"].is_string());
        request.stream = stream;
        let events = Mutex::new(Vec::new());
        let turn = self.model.ask(&request, &|event| events.lock().unwrap().push(event)).await;
        (turn, events.into_inner().unwrap())
    }
}

/// Two tools, one with a name that no provider takes.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    vec![
        ToolSpec::new("get_weather", "Weather of a city", city.clone()),
        ToolSpec::new("home.light", "Light of a city", city),
    ]
}

/// A turn in few words: `stop | content | id name args; …`.
pub(crate) fn told(turn: &Turn) -> String {
    let calls: Vec<String> = turn
        .message
        .tool_calls
        .iter()
        .map(|call| {
            let args = match &call.args {
                Arguments::Object(object) => Value::Object(object.clone()).to_string(),
                Arguments::Unparsable(text) => format!("broken {}", text.raw),
            };
            let recovered = if call.recovered { " recovered" } else { "" };
            format!("{} {} {args}{recovered}", call.id, call.name)
        })
        .collect();
    let stop = match &turn.stop {
        StopReason::Other(other) => other.clone(),
        stop => format!("{stop:?}"),
    };
    format!("{stop} | {} | {}", turn.message.content, calls.join("; "))
}

/// A call of an earlier turn.
pub(crate) fn call(id: &str, name: &str, args: &str) -> ModelCall {
    ModelCall {
        id: id.to_owned(),
        name: name.to_owned(),
        args: Arguments::parse(args),
        recovered: false,
    }
}

/// What the model said in an earlier turn.
pub(crate) fn said(content: &str, calls: Vec<ModelCall>) -> Message {
    Message::Ai(AiMessage { tool_calls: calls, ..AiMessage::text(content) })
}

/// A request as the fake provider saw it, for snapshots; insta's own JSON trips over our numbers.
pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}
