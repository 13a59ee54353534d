//! Four eyes: who asked cannot allow.

use serde_json::json;
use switchboard_approvals::{ApprovalDecision, Decider, Error, RuleScope};
use switchboard_runtime::{PolicyConfig, toolcall::ErrorKind};

use crate::{TestGateway, always, no, yes};

fn gateway() -> TestGateway {
    TestGateway::with(PolicyConfig { four_eyes: true, ..Default::default() })
}

fn by(decider: Decider, verdict: ApprovalDecision) -> ApprovalDecision {
    ApprovalDecision { decider, ..verdict }
}

fn named(name: &str) -> Decider {
    Decider::Named(name.to_owned())
}

// PO-2
#[tokio::test(start_paused = true)]
async fn who_asked_cannot_allow_but_can_deny() {
    let gateway = gateway();
    for (caller, own, other) in [
        (Some("ada"), [named("ada"), Decider::Anonymous], named("bob")),
        (None, [Decider::Owner, Decider::Anonymous], named("bob")),
        (Some("ada"), [named("ada"), Decider::Anonymous], Decider::Owner),
    ] {
        let (pending, called) = gateway.hold_for(caller, "act", json!({})).await;
        for decider in own.clone() {
            let error = gateway.queue.decide(&pending.id, by(decider, yes())).unwrap_err();
            assert!(matches!(error, Error::FourEyes(_)), "{error}");
            assert!(error.to_string().contains("who asked cannot allow it"), "{error}");
        }
        gateway.queue.decide(&pending.id, by(other, yes())).unwrap();
        assert!(called.await.unwrap().is_success());

        let [own, _] = own;
        let (pending, called) = gateway.hold_for(caller, "act", json!({})).await;
        gateway.queue.decide(&pending.id, by(own, no())).unwrap();
        assert_eq!(called.await.unwrap().error_kind(), Some(ErrorKind::Denied));
    }
}

// PO-2: nor does what somebody allowed for good allow their own calls.
#[tokio::test(start_paused = true)]
async fn a_rule_does_not_allow_the_calls_of_who_left_it() {
    let gateway = gateway();
    let (pending, called) = gateway.hold_for(Some("bob"), "act", json!({})).await;
    gateway.queue.decide(&pending.id, always(RuleScope::Tool)).unwrap();
    assert!(called.await.unwrap().is_success());
    assert!(gateway.call_as(Some("bob"), "act", json!({})).await.unwrap().is_success());
    let (pending, called) = gateway.hold_for(Some("ada"), "act", json!({})).await;
    assert!(pending.note.unwrap().contains("four eyes are needed"));
    // Another's rule for the same tool does.
    let bob = by(named("bob"), always(RuleScope::Tool));
    gateway.queue.decide(&pending.id, bob).unwrap();
    assert!(called.await.unwrap().is_success());
    assert!(gateway.call_as(Some("ada"), "act", json!({})).await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn two_eyes_are_enough_by_default() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold_for(Some("ada"), "act", json!({})).await;
    gateway.queue.decide(&pending.id, yes()).unwrap();
    assert!(called.await.unwrap().is_success());
}
