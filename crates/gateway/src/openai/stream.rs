//! An answer in chunks, while the loop runs.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::response::{Response, sse::Event};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use switchboard_agent::{Event as Happened, Events};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    time::timeout,
};
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{
    calls,
    chat::{Chat, Head, Reply, chat_call},
    failure::Failure,
    wire::Delta,
};
use crate::sse;

/// How long the head of the answer waits for something to be said: until then a failure has a status of its own.
const PATIENCE: Duration = Duration::from_secs(5);

/// What goes to the client.
enum Item {
    Event(Event),
    /// Nothing follows.
    Failed(Failure),
}

/// Answers in chunks. The loop goes on as they are read; a client that closes its connection drops it, which cancels
/// its calls and closes their records at once.
pub(super) async fn answer(chat: Chat) -> Result<Response, Failure> {
    let (sender, receiver) = unbounded_channel();
    let head = chat.head.clone();
    let run = stream::once(run(chat, sender)).filter_map(|()| ready(None));
    let mut items = Box::pin(stream::select(UnboundedReceiverStream::new(receiver), run));
    let first = match timeout(PATIENCE, items.next()).await {
        Ok(Some(Item::Failed(failure))) => return Err(failure),
        Ok(first) => first,
        Err(_) => None,
    };
    let role = Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() };
    let role = Item::Event(data(&head.chunk(role, None)));
    let begin = stream::iter([Some(role), first].into_iter().flatten());
    let events = begin.chain(items).map(|item| match item {
        Item::Event(event) => event,
        Item::Failed(failure) => data(&failure.body()),
    });
    Ok(sse::answer(events))
}

/// Runs the loop and tells what happens. Nobody may be left to hear it; then nobody minds.
async fn run(chat: Chat, sender: UnboundedSender<Item>) {
    let (head, include_usage) = (chat.head.clone(), chat.include_usage);
    let events = watcher(head.clone(), chat.include_calls, sender.clone());
    match chat.run(&events).await {
        Ok(reply) => {
            for event in ending(&head, reply, include_usage) {
                let _ = sender.send(Item::Event(event));
            }
        }
        Err(failure) => {
            let _ = sender.send(Item::Failed(failure));
        }
    }
}

/// Tells the client what the model says, and in comments or events what the tools do.
fn watcher(head: Head, include_calls: bool, sender: UnboundedSender<Item>) -> Events {
    let (speaks, spoke_before) = (AtomicBool::new(false), AtomicBool::new(false));
    Arc::new(move |happened| {
        let event = match happened {
            Happened::Text(text) if !text.is_empty() => {
                speaks.store(true, Ordering::Relaxed);
                // What the model says between its calls does not run into one.
                let gap = if spoke_before.swap(false, Ordering::Relaxed) { "\n\n" } else { "" };
                let content = Some(format!("{gap}{text}"));
                data(&head.chunk(Delta { content, ..Delta::default() }, None))
            }
            Happened::Reasoning(text) => {
                let reasoning_content = Some(text);
                data(&head.chunk(Delta { reasoning_content, ..Delta::default() }, None))
            }
            Happened::Turn { .. } => {
                if speaks.swap(false, Ordering::Relaxed) {
                    spoke_before.store(true, Ordering::Relaxed);
                }
                return;
            }
            Happened::Warning(text) => data(&head.warning(text)),
            happened if include_calls => match calls::told(&happened) {
                Some(event) => event,
                None => return,
            },
            Happened::CallStarted { name, .. } => comment(&format!("{name} runs")),
            Happened::CallFinished { name, outcome, elapsed, .. } => {
                comment(&format!("{name} ended: {outcome}, {} ms", elapsed.as_millis()))
            }
            _ => return,
        };
        let _ = sender.send(Item::Event(event));
    })
}

/// The calls of the client's tools, the end, and the cost.
fn ending(head: &Head, reply: Reply, include_usage: bool) -> Vec<Event> {
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
    // Ours are always JSON.
    Event::default().data(serde_json::to_string(body).unwrap_or_default())
}

/// A line that clients skip and people can read.
fn comment(text: &str) -> Event {
    // A model can make up any name, and a line must stay one.
    Event::default().comment(text.replace(char::is_control, " "))
}
