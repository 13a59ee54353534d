//! Which tools a model is offered: all, or, if their definitions take more than `[agent] tool_budget`, a few and search
//! (SPEC FT-3).
//!
//! What the model found or called is offered from then on. That is read from the conversation itself, in its order, so the
//! definitions that were sent before are always a prefix of those that are sent next, and a provider's cache still hits. A
//! summary of the oldest turns names what they found, in the same order.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Value, json};
use switchboard_models::{FoundTools, Message, ToolChoice, ToolReply};
use switchboard_runtime::{RegisteredTool, tool_cost};
use switchboard_toolcall::text;
use switchboard_toolcall::{ToolResult, ToolSpec, Visibility};

use crate::{Agent, READ_RESULT, ToolBudget, agent::shown_spec, fit::is_question, searchable};

pub(crate) const SEARCH: &str = FoundTools::SEARCH;

/// What a model may always call if it searches.
const SHARED: &[&str] = &[SEARCH, READ_RESULT];

/// The window of a model of which nobody knows it.
const ASSUMED_WINDOW: u64 = 128_000;
/// If the definitions are few enough for this window, the provider is not asked for the real one.
const COMMON_WINDOW: u64 = 32_768;

/// How much of a found tool's description the model reads; the definition has all of it.
const DESCRIPTION: usize = 200;

/// The end of a reply to a search that found tools.
const CALLABLE: &str = "You can call these tools now, by their names.";

/// The beginning of the line of a summary that names the tools which the summarised messages found or called.
const FOUND_EARLIER: &str = "Tools that were found in them and can be called: ";

/// The tools of a run whose model searches for the others. What is offered first never changes during a run.
pub(crate) struct SearchOffer {
    first: Vec<ToolSpec>,
    names: HashSet<String>,
}

impl SearchOffer {
    /// Returns the offer if the definitions of all tools take more than the budget. `None` if all are offered.
    pub(crate) async fn decide(agent: &Agent) -> Option<Self> {
        let tools = agent.offered();
        // Search belongs to the offer, whatever the caller sees.
        let listed = agent.executor.tools().listed();
        let own = |name: &str| listed.iter().find(|tool| **tool.name() == *name);
        let (search, read_result) = (own(SEARCH)?, own(READ_RESULT));
        if SHARED.iter().any(|name| agent.is_foreign(name)) {
            return None;
        }
        let tokens = exceeded(agent, &tools).await?;
        let is_shared = |tool: &RegisteredTool| SHARED.contains(&&**tool.name());
        let (pinned, others): (Vec<_>, Vec<_>) = tools
            .into_iter()
            .filter(|tool| !is_shared(tool))
            .partition(|tool| is_pinned(agent, tool));
        if others.is_empty() {
            return None;
        }
        tracing::info!(
            tools = others.len(),
            budget = tokens,
            "the definitions of all tools are over the budget, so the model searches for them"
        );
        let mut first = vec![searchable::search_spec(search, &others, agent.executor.tools())];
        first.extend(
            read_result.into_iter().chain(&pinned).map(|tool| shown_spec(tool).into_owned()),
        );
        let foreign = agent.foreign.iter().map(|spec| spec.name.clone());
        let names = first.iter().map(|spec| spec.name.clone()).chain(foreign).collect();
        Some(Self { first, names })
    }

    /// Returns whether the tool with this name belongs to the offer itself.
    pub(crate) fn is_shared(name: &str) -> bool {
        SHARED.contains(&name)
    }

    /// Returns how many definitions are the same in every request of the run.
    pub(crate) fn fixed(&self, agent: &Agent) -> usize {
        self.first.len() + agent.foreign.len()
    }

    /// Returns the definitions for the next turn: those of the first turn, then what was found or called, in order.
    pub(crate) fn specs<'a>(
        &'a self,
        agent: &'a Agent,
        found: &'a [Arc<RegisteredTool>],
    ) -> Vec<Cow<'a, ToolSpec>> {
        let first = self.first.iter().chain(agent.foreign.iter()).map(Cow::Borrowed);
        first.chain(found.iter().map(|tool| shown_spec(tool))).collect()
    }

    /// Returns the tools that the conversation found or called, in the order in which it did.
    pub(crate) fn found(&self, agent: &Agent, messages: &[Message]) -> Vec<Arc<RegisteredTool>> {
        let tools = agent.executor.tools();
        let mut seen = self.names.clone();
        let mut names = names_in(messages);
        if let ToolChoice::One(name) = &agent.options.choice {
            names.insert(0, name.clone());
        }
        let found = names.iter().filter_map(|name| {
            let tool = agent.tool(name)?;
            (agent.offers(tool.name())
                && !tools.is_denied(&tool)
                && seen.insert(tool.name().to_string()))
            .then_some(tool)
        });
        found.collect()
    }

    /// Returns a line for the summary of these messages with the tools that they found or called, which stay offered. Empty if
    /// there are none.
    pub(crate) fn line_for_summary(&self, agent: &Agent, messages: &[Message]) -> String {
        let found = self.found(agent, messages);
        let names: Vec<&str> = found.iter().map(|tool| &**tool.name()).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("{FOUND_EARLIER}{}\n", json!(names)),
        }
    }

    /// Returns which of the tools that are offered besides the first ones a search found before they were called. Their
    /// definitions can be deferred; that of a tool is deferred in all requests or in none, so that what was sent stays as
    /// it is.
    pub(crate) fn found_tools(
        &self,
        agent: &Agent,
        messages: &[Message],
        offered: &[Arc<RegisteredTool>],
    ) -> FoundTools {
        let offered: HashSet<&str> = offered.iter().map(|tool| &**tool.name()).collect();
        let shown = |name: &str| agent.tool(name).map(|tool| tool.name().to_string());
        let mut is_deferred = HashMap::new();
        if let ToolChoice::One(name) = &agent.options.choice {
            is_deferred.extend(shown(name).map(|name| (name, false)));
        }
        let mut found = FoundTools::default();
        for mention in mentions(messages) {
            match mention {
                Mention::Call(name) => {
                    if let Some(name) = shown(&name) {
                        is_deferred.entry(name).or_insert(false);
                    }
                }
                Mention::Search { reply, names } => {
                    let all: Vec<_> = names.iter().map(|name| shown(name)).collect();
                    let mut is_found = |name: &str| {
                        offered.contains(name)
                            && *is_deferred.entry(name.to_owned()).or_insert(true)
                    };
                    let tools = all.iter().flatten().filter(|name| is_found(name)).cloned();
                    let tools: Vec<_> = tools.collect();
                    let says_more = tools.len() < all.len() || !reply.content.ends_with(CALLABLE);
                    found.add(reply.tool_call_id.clone(), tools, says_more);
                }
            }
        }
        found
    }

    /// Shortens the reply to a search: the definitions of the tools that it found are offered, so it only has to name them.
    pub(crate) fn shorten(agent: &Agent, result: &ToolResult, reply: &mut ToolReply) {
        if result.outcome.is_err() {
            return;
        }
        let mut found: Vec<_> =
            found_in(&reply.content).iter().filter_map(|name| agent.tool(name)).collect();
        // The search of another gateway does not know what the model may call.
        found.retain(|tool| agent.offers(tool.name()));
        let shown = found.iter().map(
            |tool| json!({"name": &**tool.name(), "description": start(&tool.spec().description)}),
        );
        let shown: Value = json!({"tools": shown.collect::<Vec<_>>()});
        let note = match found.is_empty() {
            true => "No tool fits. Say in other words what it should do.",
            false => CALLABLE,
        };
        reply.content = format!("{shown}\n{note}");
    }
}

/// Returns the budget, in tokens, if the definitions of these tools take more.
async fn exceeded(agent: &Agent, tools: &[Arc<RegisteredTool>]) -> Option<u64> {
    let of_profile = agent.visibility.rules().and_then(|rules| rules.config().tool_budget);
    let budget = of_profile.unwrap_or(agent.config.tool_budget);
    let exceeds = |window| {
        let tokens = budget.tokens(window)?;
        tool_cost::exceed_tokens(tools, tokens).then_some(tokens)
    };
    if let Some(window) = agent.model.known_window() {
        return exceeds(window);
    }
    exceeds(COMMON_WINDOW)?;
    match budget {
        ToolBudget::Percent(_) => exceeds(agent.model.window().await.unwrap_or(ASSUMED_WINDOW)),
        ToolBudget::Tokens(tokens) => Some(tokens),
        ToolBudget::Off => None,
    }
}

fn is_pinned(agent: &Agent, tool: &RegisteredTool) -> bool {
    let mut names = tool.names().into_iter().chain([&**tool.name()]);
    let rules = agent.visibility.rules();
    let is_pinned_in = rules.is_some_and(|rules| rules.pins(&names.clone().collect::<Vec<_>>()));
    is_pinned_in || names.any(|name| agent.config.pinned.matches(name))
}

/// Returns what a search may find: what the caller may see and the model may call.
pub(crate) fn visibility(agent: &Agent, visibility: &Visibility) -> Visibility {
    if agent.offers_all() {
        return visibility.clone().with_names(SHARED);
    }
    let agent = agent.clone();
    visibility.clone().narrowed(move |name| agent.may_call(name)).with_names(SHARED)
}

/// How a conversation mentions tools.
enum Mention<'m> {
    /// A call of the tool with this name, or a summary that names it.
    Call(Cow<'m, str>),
    /// The reply to a search, and the names of the tools that it found.
    Search { reply: &'m ToolReply, names: Vec<String> },
}

/// Returns the names of the tools that were found or called, in order.
fn names_in(messages: &[Message]) -> Vec<String> {
    let names = mentions(messages).into_iter().flat_map(|mention| match mention {
        Mention::Call(name) => vec![name.into_owned()],
        Mention::Search { names, .. } => names,
    });
    names.collect()
}

fn mentions(messages: &[Message]) -> Vec<Mention<'_>> {
    let mut searches = HashSet::new();
    let mut mentions = Vec::new();
    for message in messages {
        match message {
            Message::Ai(said) => {
                for call in &said.tool_calls {
                    match &*call.name {
                        SEARCH => _ = searches.insert(&call.id),
                        name => mentions.push(Mention::Call(name.into())),
                    }
                }
            }
            Message::Tool(reply) if searches.contains(&reply.tool_call_id) => {
                mentions.push(Mention::Search { reply, names: found_in(&reply.content) });
            }
            Message::User(said) if !is_question(message) => {
                let names = names_in_summary(&said.content).into_iter();
                mentions.extend(names.map(|name| Mention::Call(name.into())));
            }
            _ => {}
        }
    }
    mentions
}

/// Returns the names in the reply to a search.
fn found_in(content: &str) -> Vec<String> {
    let mut values = serde_json::Deserializer::from_str(content).into_iter::<Value>();
    let Some(Ok(value)) = values.next() else { return names_in_cut(content) };
    let tools = value.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect()
}

/// Returns what may be names in a reply that was too long, so that it is JSON no more. Some may be names of other things.
fn names_in_cut(content: &str) -> Vec<String> {
    let names = content.split(r#""name":""#).skip(1).filter_map(|rest| rest.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Returns the names in the line of a summary, which is its second one.
fn names_in_summary(content: &str) -> Vec<String> {
    let line = content.lines().nth(1).and_then(|line| line.strip_prefix(FOUND_EARLIER));
    line.and_then(|names| serde_json::from_str(names).ok()).unwrap_or_default()
}

/// Returns the start of a description, on one line.
pub(crate) fn start(text: &str) -> String {
    shortened_line(text, DESCRIPTION)
}

/// Returns at most `most` characters of a text, on one line.
pub(crate) fn shortened_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text::shortened(&line, most).into_owned()
}
