//! Calls that wait for a person while the loop waits for them.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use switchboard_agent::StopCause;
use switchboard_models::Message;
use switchboard_runtime::{
    Approver, PolicyConfig, RulePolicy, Ruling, ToolExecutor,
    approval::{ApprovalRequest, AskOutcome, PendingDecision, PersonDecision},
    services,
};
use switchboard_testkit::Fake;
use switchboard_toolcall::{BoxError, ToolOutput};

use crate::scripted::{TestAgent, calls, says};

/// Somebody who answers after a minute.
struct Slow(Ruling);

impl Approver for Slow {
    fn ask(&self, _: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        let decision = Box::pin(async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(PersonDecision { ruling: self.0, by: None, reason: Some("too late".to_owned()) })
        });
        let expires = std::time::SystemTime::now();
        Ok(AskOutcome::Held(PendingDecision { id: "k7mq".into(), expires, decision }))
    }
}

/// A loop in which `guarded` must be allowed by somebody who says this.
fn stage(ruling: Ruling) -> TestAgent {
    let script = [calls(&[("free", "{}"), ("guarded", "{}")]), says("Done.")];
    let mut stage = TestAgent::new(script);
    let rules = PolicyConfig { ask: vec!["guarded".to_owned()], ..PolicyConfig::default() };
    stage.executor = ToolExecutor::builder()
        .policy(RulePolicy::new(rules).unwrap())
        .approver(Arc::new(Slow(ruling)))
        .build();
    for name in ["free", "guarded"] {
        stage.executor.tools().add(Fake::echoes(name)).unwrap();
    }
    stage
}

// ML-4, ML-5: the loop waits within the turn, and what a person says is the call's answer.
#[tokio::test(start_paused = true)]
async fn the_turn_waits_for_the_person() {
    for (ruling, text) in [
        (Ruling::Allow, "{}"),
        (Ruling::Deny, "Error: Tool 'guarded' was denied by a person: too late"),
        (Ruling::Expired, "Error: Tool 'guarded' was not run: nobody allowed it within 5m"),
    ] {
        let mut stage = stage(ruling);
        let began = tokio::time::Instant::now();
        assert_eq!(stage.run().await.answer.as_deref(), Some("Done."));
        assert_eq!(began.elapsed().as_secs(), 60);
        assert_eq!(stage.texts(), ["{}", text]);
    }
}

// ML-4: the time that a run may take holds for the wait, too.
#[tokio::test(start_paused = true)]
async fn a_budget_or_a_cancel_ends_the_wait() {
    let text =
        "Error: Tool 'guarded' was cancelled; it waited for a person to allow it and did not run";
    let mut spent = stage(Ruling::Allow).configured("time_budget = '3s'");
    let mut left = stage(Ruling::Allow).cancelled_after(Duration::from_secs(3));
    for (stage, stop) in [(&mut spent, StopCause::Budget), (&mut left, StopCause::Cancelled)] {
        let began = tokio::time::Instant::now();
        assert_eq!(stage.run().await.stop, stop);
        assert!(began.elapsed().as_secs() <= 3);
        assert_eq!(stage.texts(), ["{}", text]);
    }
}

// RN-3: nothing is shortened while somebody is asked: the model is not, either. What it then reads is the call and its result, whole.
#[tokio::test(start_paused = true)]
async fn an_open_approval_is_never_shortened() {
    let why = json!({"why": "The ships wait in the harbour. ".repeat(60)});
    let reads = (0..6).map(|n| calls(&[("page", &json!({"n": n}).to_string())]));
    let script = reads.chain([calls(&[("guarded", &why.to_string())]), says("Done.")]);
    let mut held = TestAgent::new(script).with_window(4096).without_summaries();
    held.executor = stage(Ruling::Allow).executor;
    let page =
        Fake::new("page", |_, _| async { Ok(ToolOutput::Value(json!("page ".repeat(1600)))) });
    held.executor.tools().add(page.read_only()).unwrap();
    for service in services::all(&held.executor) {
        held.executor.tools().add_shared(service).unwrap();
    }
    let outcome = held.run().await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."));
    assert!(!outcome.shortened.is_empty());
    let asked = held.requests().pop().unwrap();
    let [.., Message::Ai(turn), Message::Tool(reply)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(turn.tool_calls[0].args.as_object(), why.as_object());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.content).unwrap(), why);
}
