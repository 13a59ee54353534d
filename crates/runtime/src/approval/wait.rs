//! Waits for the decision about a held call, until the request expires or the caller is gone.

use std::time::Duration;

use serde_json::Value;
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, ErrorKind, HumanDuration, ProgressUpdate, ToolError,
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::{
    Approval, ApprovalRequest, Approver, AskOutcome, CallHeld, PendingDecision, PersonDecision,
    Ruling, definition, secrets,
};
use crate::{
    log,
    policy::{self, ApprovalOptions, AskFirst},
    record::CallRecord,
    reuse,
    tools::RegisteredTool,
};

/// How often the caller gets a progress notification while its call is held, so that it does not time out.
const BEAT: Duration = Duration::from_secs(5);

/// Asks about the call. Returns once it may run.
pub(crate) async fn until_allowed(
    approver: &dyn Approver,
    tool: &RegisteredTool,
    args: &Value,
    ask: AskFirst,
    asking: &ApprovalOptions,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<(), ToolError> {
    let (name, original) = (tool.name(), tool.original());
    let question = ApprovalRequest {
        call: record.id(),
        tool: original.name().clone(),
        server: tool.spec().server().cloned(),
        arguments: secrets::arguments_for_people(
            args,
            &original.spec().parameters,
            &asking.secret_arguments,
        ),
        fingerprint: reuse::fingerprint(original.name(), args),
        definition: definition::hash(tool),
        four_eyes: asking.four_eyes,
        caller: cx.caller.clone(),
        rule: ask.rule.clone(),
        within: ask.within,
    };
    let denied = |text: String| ToolError::new(ErrorKind::Denied, text);
    let unasked = |error: BoxError| {
        let text =
            format!("Tool '{name}' was not run: a person must allow it, and could not be asked");
        denied(text).caused_by(error)
    };
    let decision = match approver.ask(question).map_err(unasked)? {
        AskOutcome::Decided(decision) => {
            record.decided(approval(None, &decision, &ask.rule, Duration::ZERO));
            decision
        }
        AskOutcome::Held(held) => ApprovalWait::begin(&held, tool, &ask, record)
            .decision(held.decision, cx)
            .await?
            .map_err(unasked)?,
        AskOutcome::Nobody(what_to_do) => {
            let rule = policy::shown_rule(tool, &ask.rule);
            let text = format!(
                "Tool '{name}' was not run: a person must allow it ({rule}), and there is nobody to ask"
            );
            return Err(denied(text).with_hint(what_to_do));
        }
    };
    let reason = decision.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    match decision.ruling {
        Ruling::Allow => Ok(()),
        Ruling::Deny => Err(denied(format!("Tool '{name}' was denied by a person{reason}"))),
        Ruling::Expired | Ruling::Withdrawn => {
            let within = spoken(ask.within);
            Err(denied(format!("Tool '{name}' was not run: nobody allowed it within {within}")))
        }
    }
}

/// A held call. Observers learn how it ends, even if the caller drops the call.
struct ApprovalWait<'a> {
    record: &'a CallRecord,
    tool: &'a RegisteredTool,
    ask: &'a AskFirst,
    id: std::sync::Arc<str>,
    expires: std::time::SystemTime,
    since: Instant,
    is_over: bool,
}

impl<'a> ApprovalWait<'a> {
    fn begin(
        held: &PendingDecision<'_>,
        tool: &'a RegisteredTool,
        ask: &'a AskFirst,
        record: &'a CallRecord,
    ) -> Self {
        let (id, expires, since) = (held.id.clone(), held.expires, Instant::now());
        let waiting = Self { record, tool, ask, id, expires, since, is_over: false };
        log::held(&waiting.held());
        record.sinks().observe(|observer| observer.held(&waiting.held()));
        waiting
    }

    /// Waits for the decision. The call's timeout has not started; only a limit that the caller set applies.
    async fn decision(
        mut self,
        mut decision: BoxFuture<'_, Result<PersonDecision, BoxError>>,
        cx: &CallContext,
    ) -> Result<Result<PersonDecision, BoxError>, ToolError> {
        let name = self.tool.name();
        let not_run = "; it waited for a person to allow it and did not run";
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let left = cx.timeout.map(|limit| limit.saturating_sub(self.record.started().elapsed()));
        let mut too_late = std::pin::pin!(async {
            match left {
                Some(left) => sleep(left).await,
                None => std::future::pending().await,
            }
        });
        loop {
            tokio::select! {
                biased;
                decision = &mut decision => {
                    if let Ok(decision) = &decision {
                        self.end(decision);
                    }
                    return Ok(decision);
                }
                () = cx.cancel.cancelled() => {
                    self.withdraw();
                    let text = format!("Tool '{name}' was cancelled{not_run}");
                    return Err(ToolError::new(ErrorKind::Cancelled, text));
                }
                () = &mut too_late => {
                    self.withdraw();
                    let limit = HumanDuration(cx.timeout.unwrap_or_default());
                    let text = format!("Tool '{name}' timed out after {limit}{not_run}");
                    return Err(ToolError::new(ErrorKind::Timeout, text));
                }
                _ = beats.tick() => cx.progress.report(self.sign_of_life()),
            }
        }
    }

    /// Returns a progress update with a tiny value, so that the tool's own, which must increase, come after it.
    fn sign_of_life(&self) -> ProgressUpdate {
        let message = format!("waits for a person to allow it: approval {}", self.id);
        let progress = self.since.elapsed().as_secs_f64() / 1e9;
        ProgressUpdate { progress, total: None, message: Some(message) }
    }

    fn held(&self) -> CallHeld<'_> {
        CallHeld {
            start: self.record.start(),
            id: &self.id,
            tool: self.tool.original().name(),
            rule: &self.ask.rule,
            expires: self.expires,
        }
    }

    fn end(&mut self, decision: &PersonDecision) {
        self.is_over = true;
        let approval = approval(Some(&self.id), decision, &self.ask.rule, self.since.elapsed());
        self.record.sinks().observe(|observer| observer.decided(&self.held(), &approval));
        self.record.decided(approval);
    }

    fn withdraw(&mut self) {
        self.end(&PersonDecision { ruling: Ruling::Withdrawn, by: None, reason: None });
    }
}

impl Drop for ApprovalWait<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.withdraw();
        }
    }
}

fn approval(id: Option<&str>, decision: &PersonDecision, rule: &str, held: Duration) -> Approval {
    Approval {
        id: id.map(str::to_owned),
        decision: decision.ruling,
        by: decision.by.clone(),
        reason: decision.reason.clone(),
        rule: rule.to_owned(),
        held,
    }
}

/// Formats as `5m` or `90s`: in the largest unit that gives a whole number.
fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        _ if duration.subsec_nanos() > 0 || seconds == 0 => HumanDuration(duration).to_string(),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}
