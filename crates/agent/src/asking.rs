//! Asks the model for one turn.

use std::{borrow::Cow, pin::pin, sync::Arc};

use serde_json::Value;
use switchboard_models::{
    FoundTools, Message, ModelError, ModelEvent, Request, ToolChoice, Turn, Usage,
};
use switchboard_runtime::{RegisteredTool, SpanOperation, validate::SchemaCheck};
use switchboard_toolcall::{ErrorKind, ToolSpec};

use crate::{
    AgentEvent, AnswerSchema, READ_RESULT, agent::shown_spec, offered_tools::SearchOffer,
    partial_turn::PartialTurn, run::AgentRun, trace::ModelSpan,
};

impl AgentRun<'_> {
    /// Requests one turn. Returns `None` if the run ends before it is complete. `partial` gets the text that is streamed.
    pub(crate) async fn ask(
        &self,
        messages: &[Message],
        last: bool,
        partial: &PartialTurn,
    ) -> Option<Result<Turn, ModelError>> {
        let tools = self.offered(messages);
        let specs = self.specs(&tools);
        let schema = self.agent.options.answer.as_ref();
        let messages = &*with_instructions(messages, schema);
        let validate = |name: &str, args: &Value| {
            if let Some(spec) = self.agent.foreign.iter().find(|spec| spec.name == name) {
                let check = SchemaCheck::compile(&spec.parameters, spec.settings.strictness);
                return check.is_ok_and(|check| check.may_accept(args));
            }
            let tool = tools.iter().find(|tool| **tool.name() == *name).cloned();
            // A model that searches may call what it has not found.
            let known = || self.search.as_ref().and_then(|_| self.agent.tool(name));
            let tool = tool.or_else(known);
            args.as_object().is_some_and(|args| tool.is_some_and(|tool| tool.may_accept(args)))
        };
        let found = self.found_tools(messages, &tools);
        let mut request = Request::new(messages)
            .with_tools(specs.iter().map(AsRef::as_ref))
            .with_validation(&validate);
        request.stream = self.agent.config.stream;
        request.whole_turns = self.agent.options.whole_turns;
        request.choice = self.choice(last);
        request.fixed_tools = self.search.as_ref().map(|search| search.fixed(self.agent));
        request.found = found.as_ref();
        request.max_tokens = self.agent.options.max_tokens;
        request.temperature = self.agent.options.temperature;
        request.answer_schema = schema.map(AnswerSchema::schema);
        let tell = |event| {
            if let ModelEvent::Text(text) = &event {
                partial.push(text);
            }
            if let ModelEvent::ContextEdited(edits) = event {
                return self.note_provider_edits(edits);
            }
            // Nobody sees an answer that may not fit its schema.
            let is_hidden = schema.is_some() && matches!(event, ModelEvent::Text(_));
            if let Some(event) = AgentEvent::of_model(event).filter(|_| !is_hidden) {
                (self.events)(event);
            }
        };
        let traced = ModelSpan::begin(self.agent, self.cx.trace.as_ref());
        let turn = pin!(self.agent.model.ask(&request, &tell));
        let turn = tokio::select! {
            biased;
            turn = turn => Some(turn),
            () = self.over() => None,
        };
        let (usage, failure) = match &turn {
            Some(Ok(turn)) => (turn.usage, None),
            Some(Err(error)) => (Usage::default(), Some(error.kind.code())),
            None => (Usage::default(), Some(ErrorKind::Cancelled.code())),
        };
        traced.end(SpanOperation::Turn, usage, failure, self.cx);
        turn
    }

    /// Returns our tools for the next turn: all, or those that were found.
    pub(crate) fn offered(&self, messages: &[Message]) -> Vec<Arc<RegisteredTool>> {
        let mut tools = match &self.search {
            Some(search) => search.found(self.agent, messages),
            None => self.agent.offered(),
        };
        let has_it = || tools.iter().any(|tool| **tool.name() == *READ_RESULT);
        if self.search.is_none() && self.may_read_results() && !has_it() {
            tools.extend(self.agent.executor.tools().get(READ_RESULT));
        }
        tools
    }

    /// Returns what searches found of the tools for the next turn, if the model gets their definitions as deferred ones.
    fn found_tools(
        &self,
        messages: &[Message],
        tools: &[Arc<RegisteredTool>],
    ) -> Option<FoundTools> {
        let search = self.search.as_ref().filter(|_| self.agent.model.defers_found_tools())?;
        Some(search.found_tools(self.agent, messages, tools))
    }

    /// Returns whether the model may read what was shortened, whatever tools it is offered.
    fn may_read_results(&self) -> bool {
        self.fit.has_shortened() && !self.agent.is_foreign(READ_RESULT)
    }

    /// Returns the definitions for the next turn, in order.
    pub(crate) fn specs<'t>(&'t self, tools: &'t [Arc<RegisteredTool>]) -> Vec<Cow<'t, ToolSpec>> {
        match &self.search {
            Some(search) => search.specs(self.agent, tools),
            None => {
                let ours = tools.iter().map(|tool| shown_spec(tool));
                ours.chain(self.agent.foreign.iter().map(Cow::Borrowed)).collect()
            }
        }
    }

    /// Returns whether the model may call what this name finds.
    pub(crate) fn may_call(&self, name: &str) -> bool {
        let is_shared = self.search.is_some() && SearchOffer::is_shared(name);
        let is_reading = name == READ_RESULT && self.may_read_results();
        is_shared || is_reading || self.agent.may_call(name)
    }

    /// The caller's choice holds for the first turn, or the model could never answer; the last is without tools.
    fn choice(&self, last: bool) -> ToolChoice {
        match &self.agent.options.choice {
            _ if last => ToolChoice::Never,
            ToolChoice::Never => ToolChoice::Never,
            choice if self.turns.is_empty() => choice.clone(),
            _ => ToolChoice::Auto,
        }
    }
}

/// Returns the messages as the model gets them: with what it has to know of the form of its answer, behind the system prompt.
fn with_instructions<'m>(
    messages: &'m [Message],
    schema: Option<&AnswerSchema>,
) -> Cow<'m, [Message]> {
    let Some(schema) = schema else { return Cow::Borrowed(messages) };
    let is_system = |message: &&Message| matches!(message, Message::System(_));
    let place = messages.iter().take_while(is_system).count();
    let mut messages = messages.to_vec();
    messages.insert(place, Message::System(schema.instructions()));
    Cow::Owned(messages)
}
