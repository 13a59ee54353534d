//! A model that goes round in circles.

use switchboard_agent::StopCause;

use crate::scripted::{TestAgent, calls, says};

/// The same call, written in two ways.
fn same(n: usize) -> &'static str {
    if n.is_multiple_of(2) { r#"{"a":1,"b":2}"# } else { r#"{"b":2,"a":1.0}"# }
}

// ML-4: a nudge at the 3rd time, stop at the 5th; successes count too.
#[tokio::test(start_paused = true)]
async fn repeats_are_nudged_then_stopped() {
    let mut stage = TestAgent::new((0..9).map(|n| calls(&[("echo", same(n))])));
    let outcome = stage.run().await;
    assert_eq!((outcome.stop, outcome.turns.len()), (StopCause::Repeats, 5));
    let replies = stage.replies();
    let nudged: Vec<_> = replies.iter().map(|reply| reply.content.contains("Note: ")).collect();
    assert_eq!(nudged, [false, false, true, true, false]);
    assert!(replies[2].content.starts_with(same(0)) && !replies[2].is_error);
    let stop = "Error: Tool 'echo' was not run: it was asked for 5 times with the same arguments";
    assert_eq!(replies[4].content, stop);
}

// ML-4
#[tokio::test(start_paused = true)]
async fn failures_and_unreadable_arguments_count() {
    for call in [("fails", "{}"), ("echo", r#"{"a":"#)] {
        let mut stage = TestAgent::new((0..9).map(|_| calls(&[call])));
        assert_eq!(stage.run().await.stop, StopCause::Repeats);
        assert_eq!(stage.replies().len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn polling_tools_may_repeat() {
    let script = || (0..8).map(|_| calls(&[("echo", "{}")])).chain([says("Ready.")]);
    let mut stage = TestAgent::new(script()).configured("polling_tools = ['ec*']");
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    assert!(stage.texts().iter().all(|text| text == "{}"));
}
