//! Calls of which nobody knows whether they ran: told truthfully, and never asked for twice where that could do harm.

use serde_json::json;
use switchboard_testkit::Fake;
use switchboard_toolcall::{Annotations, CallContext, ErrorKind};
use switchboard_workers::wire::{WireOutcome, WireOutput, WorkerNotice, WorkerReply};

use crate::{
    TestServers,
    shared::nodes::{ScriptedWorker, within},
};

const IDEMPOTENT: Annotations =
    Annotations { read_only: None, idempotent: Some(true), destructive: None, open_world: None };

/// How a worker is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// It takes the call and goes silent.
    AfterTaking,
    /// It says nothing at all.
    BeforeTaking,
    /// It says what nobody understands.
    Garbled,
}

async fn lose(scripted: &mut ScriptedWorker, loss: Loss) -> WorkerNotice {
    let (request, to) = scripted.asked().await;
    match loss {
        Loss::AfterTaking => scripted.accept(&to, request.waits).await,
        Loss::BeforeTaking => {}
        Loss::Garbled => scripted.send(&to, "nonsense".into()).await,
    }
    WorkerNotice::Cancel(request.call)
}

pub(crate) async fn a_lost_call_is_told_as_lost_and_asked_again_only_where_that_does_no_harm(
    servers: TestServers,
) {
    let unmarked = || Fake::echoes("do");
    let cases = [
        (Loss::AfterTaking, unmarked(), 1, ErrorKind::OutcomeUnknown),
        // Nobody was told to begin.
        (Loss::BeforeTaking, unmarked(), 4, ErrorKind::Unavailable),
        (Loss::Garbled, unmarked(), 1, ErrorKind::OutcomeUnknown),
        (Loss::AfterTaking, unmarked().read_only(), 2, ErrorKind::Unavailable),
        (Loss::BeforeTaking, unmarked().read_only(), 2, ErrorKind::Unavailable),
        (
            Loss::AfterTaking,
            unmarked().with(|spec| spec.annotations = IDEMPOTENT),
            2,
            ErrorKind::OutcomeUnknown,
        ),
    ];
    let all = cases.into_iter().enumerate().map(|(place, (loss, tool, times, kind))| {
        let servers = &servers;
        async move {
            let group = format!("g{place}");
            let mut scripted = servers.scripted(&group, tool).await;
            let name = format!("{group}__do");
            let gateway = servers.gateway(&name).await;
            let call = gateway.begin(&name, json!({}), CallContext::default());
            for _ in 0..times {
                lose(&mut scripted, loss).await;
            }
            let result = within("an end", call).await.unwrap();
            assert_eq!(result.error_kind(), Some(kind), "{loss:?}: {}", result.text());
            if kind == ErrorKind::OutcomeUnknown {
                assert!(result.text().contains("may have run"), "{}", result.text());
            }
            assert!(scripted.calls.try_recv().is_err(), "{loss:?}: asked more than {times} times");
        }
    });
    futures_util::future::join_all(all).await;
}

pub(crate) async fn a_worker_that_comes_back_late_is_told_to_stop_and_not_believed(
    servers: TestServers,
) {
    let mut scripted = servers.scripted("gpu", Fake::echoes("do").read_only()).await;
    let gateway = servers.gateway("gpu__do").await;
    let call = gateway.begin("gpu__do", json!({}), CallContext::default());
    let (first, late) = scripted.asked().await;
    // The first one is silent, so that another is asked; then it answers after all.
    let (second, to) = scripted.asked().await;
    assert_ne!(first.call, second.call);
    let told = within("a notice", scripted.notices.recv()).await;
    assert_eq!(told, Some(WorkerNotice::Cancel(first.call)));
    let answer =
        |word: &str| WorkerReply::Result(WireOutcome::Answer(WireOutput::Value(json!(word))));
    scripted.say(&late, &answer("late")).await;
    scripted.say(&to, &answer("in time")).await;
    let result = within("an answer", call).await.unwrap();
    assert_eq!(result.text(), "in time");
}
