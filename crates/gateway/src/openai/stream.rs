//! A response in chunks, while the loop runs.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::response::{Response, sse::Event};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use switchboard_agent::{AgentEvent, AgentEvents};
use switchboard_toolcall::CallId;
use tokio::{
    sync::{
        mpsc::{UnboundedSender, unbounded_channel},
        watch,
    },
    time::timeout,
};
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{
    calls,
    chat::{Chat, ChatOutcome, CompletionHead, chat_call},
    failure::ChatFailure,
    keyed::{self, KeyedAnswer},
    wire::Delta,
};
use crate::sse;

/// How long the response's head waits for the first output: until then a failure has its own status.
const PATIENCE: Duration = Duration::from_secs(5);

/// An item of the stream.
enum StreamItem {
    Event(Event),
    /// The chat failed; nothing follows.
    Failed(ChatFailure),
}

/// Returns a response in chunks. The loop runs while they are read; a client that disconnects drops it, which cancels
/// its calls and closes their records at once.
pub(super) async fn answer(chat: Chat) -> Result<Response, ChatFailure> {
    let (sender, receiver) = unbounded_channel();
    let head = chat.head.clone();
    let run = stream::once(run(chat, sender)).filter_map(|()| ready(None));
    let mut items = Box::pin(stream::select(UnboundedReceiverStream::new(receiver), run));
    let first = match timeout(PATIENCE, items.next()).await {
        Ok(Some(StreamItem::Failed(failure))) => return Err(failure),
        Ok(first) => first,
        Err(_) => None,
    };
    let begin = stream::iter([Some(StreamItem::Event(role(&head))), first].into_iter().flatten());
    Ok(respond(begin.chain(items)))
}

/// Returns a response in chunks for a run that goes on without this response: the answer in one piece when the run has ended,
/// and comments until then.
pub(super) fn later(
    model: String,
    run: CallId,
    include_usage: bool,
    result: watch::Receiver<Option<Result<Arc<KeyedAnswer>, ChatFailure>>>,
) -> Response {
    let head = CompletionHead::of_run(model, run);
    let begin = stream::iter([StreamItem::Event(role(&head))]);
    let rest = stream::once(async move {
        match keyed::outcome(result).await {
            Some(Ok(answer)) => whole(&head, answer.outcome.clone(), include_usage),
            Some(Err(failure)) => vec![StreamItem::Failed(failure)],
            None => vec![StreamItem::Failed(keyed::interrupted())],
        }
    });
    respond(begin.chain(rest.flat_map(stream::iter)))
}

/// Returns a response in chunks with an answer that is known.
pub(super) fn at_once(
    head: &CompletionHead,
    outcome: ChatOutcome,
    include_usage: bool,
) -> Response {
    let begin = stream::iter([StreamItem::Event(role(head))]);
    respond(begin.chain(stream::iter(whole(head, outcome, include_usage))))
}

/// Returns the chunks of an answer in one piece.
fn whole(head: &CompletionHead, outcome: ChatOutcome, include_usage: bool) -> Vec<StreamItem> {
    let content = Some(outcome.text.clone()).filter(|text| !text.is_empty());
    let text = content.map(|content| {
        data(&head.chunk(Delta { content: Some(content), ..Delta::default() }, None))
    });
    text.into_iter().chain(ending(head, outcome, include_usage)).map(StreamItem::Event).collect()
}

/// Returns the first chunk.
fn role(head: &CompletionHead) -> Event {
    let role = Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() };
    data(&head.chunk(role, None))
}

fn respond(items: impl Stream<Item = StreamItem> + Send + 'static) -> Response {
    let events = items.map(|item| match item {
        StreamItem::Event(event) => event,
        StreamItem::Failed(failure) => data(&failure.body()),
    });
    sse::answer(events)
}

/// Runs the loop and sends its events. Ignores that the client may have disconnected.
async fn run(chat: Chat, sender: UnboundedSender<StreamItem>) {
    let (head, include_usage) = (chat.head.clone(), chat.include_usage);
    let events = watcher(head.clone(), chat.include_calls, sender.clone());
    match chat.run(&events).await {
        Ok(reply) => {
            for event in ending(&head, reply, include_usage) {
                let _ = sender.send(StreamItem::Event(event));
            }
        }
        Err(failure) => {
            let _ = sender.send(StreamItem::Failed(failure));
        }
    }
}

/// Sends the model's text, and the tools' progress as comments or events.
fn watcher(
    head: CompletionHead,
    include_calls: bool,
    sender: UnboundedSender<StreamItem>,
) -> AgentEvents {
    let (speaks, spoke_before) = (AtomicBool::new(false), AtomicBool::new(false));
    Arc::new(move |happened| {
        let event = match happened {
            AgentEvent::Text(text) if !text.is_empty() => {
                speaks.store(true, Ordering::Relaxed);
                // Texts between the model's calls are separated.
                let gap = if spoke_before.swap(false, Ordering::Relaxed) { "\n\n" } else { "" };
                let content = Some(format!("{gap}{text}"));
                data(&head.chunk(Delta { content, ..Delta::default() }, None))
            }
            AgentEvent::Reasoning(text) => {
                let reasoning_content = Some(text);
                data(&head.chunk(Delta { reasoning_content, ..Delta::default() }, None))
            }
            AgentEvent::Turn { .. } => {
                if speaks.swap(false, Ordering::Relaxed) {
                    spoke_before.store(true, Ordering::Relaxed);
                }
                return;
            }
            AgentEvent::Warning(text) => data(&head.warning(text)),
            happened if include_calls => match calls::call_event(&happened) {
                Some(event) => event,
                None => return,
            },
            AgentEvent::CallStarted { name, .. } => comment(&format!("{name} runs")),
            AgentEvent::CallFinished { name, outcome, elapsed, .. } => {
                comment(&format!("{name} ended: {outcome}, {} ms", elapsed.as_millis()))
            }
            _ => return,
        };
        let _ = sender.send(StreamItem::Event(event));
    })
}

/// Returns the last chunks: the calls of the client's tools, the finish reason, and the usage.
fn ending(head: &CompletionHead, reply: ChatOutcome, include_usage: bool) -> Vec<Event> {
    let mut events = Vec::new();
    if !reply.calls.is_empty() {
        let calls = reply.calls.into_iter().enumerate();
        let tool_calls = calls.map(|(index, call)| chat_call(Some(index), call)).collect();
        events.push(data(&head.chunk(Delta { tool_calls, ..Delta::default() }, None)));
    }
    events.push(data(&head.chunk(Delta::default(), Some(reply.finish))));
    if include_usage {
        events.push(data(&head.cost(reply.usage)));
    }
    events.push(Event::default().data("[DONE]"));
    events
}

fn data(body: &impl Serialize) -> Event {
    // Cannot fail: our types are always valid JSON.
    Event::default().data(serde_json::to_string(body).unwrap_or_default())
}

/// Creates a comment, which clients skip and people can read.
fn comment(text: &str) -> Event {
    // A model can make up any name, and a comment must stay on one line.
    Event::default().comment(text.replace(char::is_control, " "))
}
