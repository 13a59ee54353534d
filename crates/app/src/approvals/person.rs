//! Asks the person at this terminal, who answers with one key. A decision made elsewhere meanwhile counts, too.

use std::sync::Arc;

use clap::ColorChoice;
use switchboard_approvals::{
    ApprovalDecision, ApprovalQueue, Decider, Error, RuleLookup, RuleScope,
};
use switchboard_runtime::{
    Approver, Ruling,
    approval::{ApprovalRequest, AskOutcome, PendingDecision, PersonDecision},
};
use switchboard_toolcall::{BoxError, text::visible};

use super::arguments;
use crate::{
    environment,
    terminal::{
        self, Paint, ask,
        keys::{KeyPress, KeyPresses},
        spinner::SpinnerPause,
    },
};

/// What to do if the caller may not allow its own call.
const OTHER_EYES: &str = "With `[policy] four_eyes`, who asks cannot allow. Call it through `switchboard serve`, where somebody \
    else with a token of `switchboard token new --approve` allows it.";

/// Asks the person at this terminal.
pub(super) struct TerminalApprover {
    queue: Arc<ApprovalQueue>,
}

impl TerminalApprover {
    pub(super) fn new(queue: Arc<ApprovalQueue>) -> Self {
        Self { queue }
    }

    /// Asks at the terminal, and gives the answer to the queue, as `switchboard approve` does.
    pub(super) async fn answer(&self, shown: &CallToDecide<'_>, id: &str) -> Result<(), BoxError> {
        let _turn = ask::turn().await;
        let _pause = SpinnerPause::begin();
        let paint = Paint::stderr(ColorChoice::Auto);
        // Opened before the question is shown, so that every key pressed after it counts as the answer.
        let mut keys = KeyPresses::open()?;
        let note = self.queue.find(id).ok().and_then(|pending| pending.note);
        terminal::tell(&question_text(shown, note.as_deref(), paint));
        let verdict = loop {
            if let Some(verdict) = meant(keys.next().await) {
                break verdict;
            }
        };
        drop(keys);
        let said = match (verdict.allow, verdict.remember) {
            (true, None) => paint.green("allowed"),
            (true, Some(RuleScope::Arguments)) => {
                paint.green("allowed, and always with these arguments")
            }
            (true, Some(RuleScope::Tool)) => paint.green("allowed, and always from now on"),
            (false, _) => paint.red("denied"),
        };
        terminal::tell(&format!("  {said}"));
        match self.queue.decide(id, verdict) {
            Err(Error::NotRemembered(reason)) => {
                terminal::tell(&format!("{} not remembered: {reason}", paint.yellow("warning:")));
                Ok(())
            }
            // `Closed`: somebody else has decided already.
            Err(Error::Closed { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        if question.four_eyes && !Decider::Owner.is_other_than(question.caller.as_deref()) {
            return Ok(match self.queue.match_rules(&question)? {
                RuleLookup::Allowed(decision) => AskOutcome::Decided(decision),
                RuleLookup::Ask { .. } => AskOutcome::Nobody(OTHER_EYES.to_owned()),
            });
        }
        let shown = question.clone();
        let PendingDecision { id, expires, mut decision } = match self.queue.ask(question)? {
            AskOutcome::Held(held) => held,
            other => return Ok(other),
        };
        let word = id.clone();
        let decision = Box::pin(async move {
            let shown = CallToDecide::of(&shown);
            let answered = tokio::select! {
                biased;
                decision = &mut decision => {
                    tell_elsewhere(decision.as_ref().ok());
                    return decision;
                }
                answered = self.answer(&shown, &word) => answered,
            };
            answered?;
            decision.await
        });
        Ok(AskOutcome::Held(PendingDecision { id, expires, decision }))
    }
}

/// Says how the call was decided elsewhere before it was answered here.
fn tell_elsewhere(decision: Option<&PersonDecision>) {
    let Some(decision) = decision else { return };
    let by = decision.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    terminal::tell(&match decision.ruling {
        Ruling::Allow => format!("  allowed elsewhere{by}"),
        Ruling::Deny => format!("  denied elsewhere{by}"),
        Ruling::Expired | Ruling::Withdrawn => "  too late".to_owned(),
    });
}

/// The parts of a call that are shown to the person who decides.
pub(super) struct CallToDecide<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a str,
    pub(super) rule: &'a str,
}

impl<'a> CallToDecide<'a> {
    fn of(question: &'a ApprovalRequest) -> Self {
        let ApprovalRequest { tool, arguments, rule, .. } = question;
        Self { tool, arguments, rule }
    }
}

fn question_text(shown: &CallToDecide<'_>, note: Option<&str>, paint: Paint) -> String {
    let tool = visible(shown.tool);
    let arguments = arguments::indented(shown.arguments, "    ");
    let rule = paint.dim(&format!("({})", visible(shown.rule)));
    let note = note.map(|note| format!("\n  {} {}", paint.yellow("note:"), visible(note)));
    let key = |key: &str, rest: &str| format!("[{}]{rest}", paint.bold(key));
    let keys = [
        key("y", "es"),
        key("n", "o"),
        key("a", "lways with these arguments"),
        key("t", "his tool always"),
    ];
    format!(
        "\n{} {} wants to run {rule}{}\n{arguments}\n  Allow it? {}",
        paint.yellow("?"),
        paint.bold(&tool),
        note.unwrap_or_default(),
        keys.join(", ")
    )
}

/// Returns the decision that a key stands for; `None` if it stands for none.
fn meant(key: KeyPress) -> Option<ApprovalDecision> {
    let (allow, remember) = match key {
        KeyPress::Letter('y' | 'Y') => (true, None),
        KeyPress::Letter('a' | 'A') => (true, Some(RuleScope::Arguments)),
        KeyPress::Letter('t' | 'T') => (true, Some(RuleScope::Tool)),
        KeyPress::Letter('n' | 'N') | KeyPress::Interrupt | KeyPress::End => (false, None),
        KeyPress::Letter(_) => return None,
    };
    Some(ApprovalDecision { allow, by: who(), decider: Decider::Owner, reason: None, remember })
}

/// Returns the name of the person at this terminal.
pub(crate) fn who() -> String {
    match environment::variable("USER").ok().filter(|name| !name.is_empty()) {
        Some(name) => format!("{name} at a terminal"),
        None => "somebody at a terminal".to_owned(),
    }
}
