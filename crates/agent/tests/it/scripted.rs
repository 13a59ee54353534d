//! A model that says what a test wants, and a loop around it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentEvent, AgentEvents, AgentOutcome, Config, Conversation};
use switchboard_models::{
    AiMessage, Arguments, FailureKind, Message, Model, ModelCall, ModelError, Price, Provider,
    Request, StopReason, ToolChoice, ToolReply, Turn, Usage, model,
};
use switchboard_runtime::{PolicyConfig, RulePolicy, ToolExecutor};
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{BoxFuture, CallContext, ProgressUpdate, ToolOutput, ToolSpec};

/// What the model does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedReply {
    Turn(Turn),
    Fails,
    Hangs,
    /// Sends some text, and then nothing more.
    Begins(&'static str),
    /// Sends some text, and then fails.
    Breaks(&'static str),
}

/// Answers with text.
pub(crate) fn says(text: &str) -> ScriptedReply {
    turn(text, &[], StopReason::Answer)
}

/// Calls tools, each with arguments as the model writes them.
pub(crate) fn calls(calls: &[(&str, &str)]) -> ScriptedReply {
    turn("", calls, StopReason::ToolUse)
}

/// Ends a turn with text and calls for a reason.
pub(crate) fn turn(text: &str, calls: &[(&str, &str)], stop: StopReason) -> ScriptedReply {
    let call = |(name, args): &(&str, &str)| ModelCall {
        id: String::new(),
        name: (*name).to_owned(),
        args: Arguments::parse(args),
        recovered: false,
    };
    let tool_calls = calls.iter().map(call).collect();
    let message = AiMessage { tool_calls, ..AiMessage::text(text) };
    ScriptedReply::Turn(Turn { message, stop, usage: Usage { input_tokens: 10, output_tokens: 5 } })
}

/// A model with a script. After its end it hangs.
#[derive(Clone, Default)]
pub(crate) struct Scripted(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    script: VecDeque<ScriptedReply>,
    /// How each request was: how many messages and tools, and whether tools may be called.
    asked: Vec<(usize, usize, ToolChoice)>,
    /// The definitions of each request, as JSON.
    definitions: Vec<Vec<String>>,
    /// The messages of each request.
    requests: Vec<Vec<Message>>,
    window: Option<u64>,
    price: Option<Price>,
    /// Whether it is not asked for summaries, which would take turns of the script.
    never_summarises: bool,
    /// Requests of more characters are refused.
    most_characters: Option<usize>,
}

impl Model for Scripted {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn known_window(&self) -> Option<u64> {
        self.0.lock().unwrap().window
    }

    fn summarises(&self) -> bool {
        !self.0.lock().unwrap().never_summarises
    }

    fn price(&self) -> Option<Price> {
        self.0.lock().unwrap().price
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: model::ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        let mut state = self.0.lock().unwrap();
        check(request.messages);
        state.asked.push((request.messages.len(), request.tools.len(), request.choice.clone()));
        let shown =
            |tool: &&ToolSpec| json!([tool.name, tool.description, tool.parameters]).to_string();
        state.definitions.push(request.tools.iter().map(shown).collect());
        state.requests.push(request.messages.to_vec());
        let length = serde_json::to_string(request.messages).unwrap().len();
        if state.most_characters.is_some_and(|most| length > most) {
            let text = "the request exceeds the context window";
            let error = ModelError::new(FailureKind::ContextFull, text);
            return Box::pin(std::future::ready(Err(error)));
        }
        let next = state.script.pop_front().unwrap_or(ScriptedReply::Hangs);
        Box::pin(async move {
            match next {
                ScriptedReply::Turn(turn) => {
                    events(switchboard_models::ModelEvent::Text(turn.message.content.clone()));
                    Ok(turn)
                }
                ScriptedReply::Fails => Err(ModelError::new(FailureKind::Server, "it burns")),
                ScriptedReply::Hangs => std::future::pending().await,
                ScriptedReply::Begins(text) => {
                    for word in text.split_inclusive(' ') {
                        events(switchboard_models::ModelEvent::Text(word.to_owned()));
                    }
                    std::future::pending().await
                }
                ScriptedReply::Breaks(text) => {
                    events(switchboard_models::ModelEvent::Text(text.to_owned()));
                    Err(ModelError::new(FailureKind::Server, "it burns"))
                }
            }
        })
    }
}

/// A loop with a script, tools and a watcher.
pub(crate) struct TestAgent {
    pub(crate) model: Scripted,
    pub(crate) executor: ToolExecutor,
    pub(crate) config: Config,
    pub(crate) cx: CallContext,
    pub(crate) conversation: Conversation,
    pub(crate) witness: Witness,
    pub(crate) events: Arc<Mutex<Vec<AgentEvent>>>,
}

impl TestAgent {
    /// The user asks; the model does what the script says.
    pub(crate) fn new(script: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let state = State { script: script.into_iter().collect(), ..State::default() };
        let mut conversation = Conversation::with_system("Be brief.");
        conversation.say("Go");
        let witness = Witness::default();
        let executor = ToolExecutor::default();
        for tool in tools(&witness) {
            executor.tools().add(tool).unwrap();
        }
        Self {
            model: Scripted(Arc::new(Mutex::new(state))),
            executor,
            config: Config::default(),
            cx: CallContext::default(),
            conversation,
            witness,
            events: Arc::default(),
        }
    }

    pub(crate) fn configured(mut self, toml: &str) -> Self {
        self.config = toml::from_str(toml).unwrap();
        self
    }

    /// The model claims this window.
    pub(crate) fn with_window(self, tokens: u64) -> Self {
        self.model.0.lock().unwrap().window = Some(tokens);
        self
    }

    /// The model is not asked for summaries.
    pub(crate) fn without_summaries(self) -> Self {
        self.model.0.lock().unwrap().never_summarises = true;
        self
    }

    /// The model refuses longer requests, without saying how long they may be.
    pub(crate) fn refusing_from(self, characters: usize) -> Self {
        self.model.0.lock().unwrap().most_characters = Some(characters);
        self
    }

    /// A million tokens cost this much.
    pub(crate) fn with_price(self, input: f64, output: f64) -> Self {
        self.model.0.lock().unwrap().price = Some(Price { input, output });
        self
    }

    /// The messages of each request.
    pub(crate) fn requests(&self) -> Vec<Vec<Message>> {
        self.model.0.lock().unwrap().requests.clone()
    }

    /// Has one more tool, which policy denies.
    pub(crate) fn denying(mut self, name: &str) -> Self {
        let rules = PolicyConfig { deny: vec![name.to_owned()], ..PolicyConfig::default() };
        self.executor = ToolExecutor::builder().policy(RulePolicy::new(rules).unwrap()).build();
        for tool in tools(&self.witness).into_iter().chain([Fake::echoes(name)]) {
            self.executor.tools().add(tool).unwrap();
        }
        self
    }

    /// Cancels after a while.
    pub(crate) fn cancelled_after(self, after: Duration) -> Self {
        let cancel = self.cx.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            cancel.cancel();
        });
        self
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::new(Arc::new(self.model.clone()), self.executor.clone(), self.config.clone())
    }

    pub(crate) fn watcher(&self) -> AgentEvents {
        let events = self.events.clone();
        Arc::new(move |event| events.lock().unwrap().push(event))
    }

    pub(crate) async fn run(&mut self) -> AgentOutcome {
        let (agent, watcher) = (self.agent(), self.watcher());
        let outcome = agent.run(&mut self.conversation, &watcher, &self.cx).await;
        check(self.conversation.messages());
        outcome
    }

    /// How the model was asked.
    pub(crate) fn asked(&self) -> Vec<(usize, usize, ToolChoice)> {
        self.model.0.lock().unwrap().asked.clone()
    }

    /// The definitions that each request had, as JSON.
    pub(crate) fn definitions(&self) -> Vec<Vec<String>> {
        self.model.0.lock().unwrap().definitions.clone()
    }

    /// The replies to calls, in order.
    pub(crate) fn replies(&self) -> Vec<ToolReply> {
        let messages = self.conversation.messages().iter();
        messages
            .filter_map(|message| match message {
                Message::Tool(reply) => Some(reply.clone()),
                _ => None,
            })
            .collect()
    }

    /// What the replies say.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.replies().into_iter().map(|reply| reply.content).collect()
    }
}

/// One tool of each kind of behaviour.
fn tools(witness: &Witness) -> [Fake; 6] {
    let progress = Fake::new("progress", |_, cx: CallContext| async move {
        cx.progress.report(ProgressUpdate { progress: 0.5, ..ProgressUpdate::default() });
        Ok(ToolOutput::Value(json!("told")))
    });
    let panics = Fake::new("panics", |_: Value, _| async move { panic!("boom") });
    [
        Fake::echoes("echo").read_only(),
        Fake::fails("fails", "no luck"),
        panics,
        Fake::waits("wait", witness).read_only(),
        Fake::waits("write", witness),
        progress,
    ]
}

/// Every call has one reply, right after its message and in order, and no reply is without a call (ML-5).
pub(crate) fn check(messages: &[Message]) {
    let mut expected: VecDeque<&str> = VecDeque::new();
    let mut ids = std::collections::HashSet::new();
    let mut asked = false;
    for message in messages {
        if let Message::Tool(reply) = message {
            assert_eq!(expected.pop_front(), Some(&*reply.tool_call_id), "{messages:?}");
            continue;
        }
        assert!(expected.is_empty(), "unanswered: {expected:?} in {messages:?}");
        match message {
            Message::User(_) => asked = true,
            Message::Ai(message) => {
                assert!(asked, "the model spoke first: {messages:?}");
                for call in &message.tool_calls {
                    assert!(!call.id.is_empty() && ids.insert(&call.id), "{messages:?}");
                    expected.push_back(&call.id);
                }
            }
            _ => {}
        }
    }
    assert!(expected.is_empty(), "unanswered: {expected:?} in {messages:?}");
}
