//! Idempotency keys across processes.

use std::sync::PoisonError;

use serde_json::{Map, Value};
use switchboard_runtime::{
    record::{Claim, ClaimOutcome},
    redact::REDACTED,
};
use switchboard_toolcall::{Content, ErrorKind, ToolError, ToolOutput};
use tracing::warn;

use super::StoreInner;
use crate::{
    claims,
    error::{Error, chain},
    record::{CallDetail, CallOutcome},
};

impl StoreInner {
    /// Claims the key for the call, or returns what happened to the call that has it.
    pub(super) fn claim(&self, claim: &Claim) -> Result<ClaimOutcome, Error> {
        self.layout.create()?;
        // A key that was just released is free.
        self.release_noted();
        let earlier = {
            let guard = self.layout.lock()?;
            claims::take(&self.layout, claim, &guard)?
        };
        let Some(earlier) = earlier else { return Ok(ClaimOutcome::First) };
        let id = earlier.id;
        if !earlier.is_same(claim) {
            return Ok(ClaimOutcome::Other(id));
        }
        if self.journal.runs(id) {
            return Ok(ClaimOutcome::Running(id));
        }
        // The query also marks what dead processes left open.
        let Some(detail) = self.ask(|reader| reader.show(id))? else {
            // Its record was dropped or never written: its outcome is unknown.
            return Ok(ClaimOutcome::Unknown(id));
        };
        Ok(match detail.record.outcome {
            CallOutcome::Running => ClaimOutcome::Running(id),
            CallOutcome::Failed(ErrorKind::OutcomeUnknown) if detail.error.is_none() => {
                ClaimOutcome::Unknown(id)
            }
            _ => outcome(detail)
                .map_or(ClaimOutcome::NotKept(id), |outcome| ClaimOutcome::Ended(id, outcome)),
        })
    }

    /// Schedules the release of a key, which has to wait for the store's lock.
    pub(super) fn note_release(&self, claim: &Claim) {
        self.released.lock().unwrap_or_else(PoisonError::into_inner).push(claim.clone());
    }

    /// Releases the scheduled keys. Blocks: must not run on a serving thread.
    pub(super) fn release_noted(&self) {
        // Locked until all are released: claiming waits for this, scheduling does not.
        let _one = self.releasing.lock().unwrap_or_else(PoisonError::into_inner);
        let noted =
            std::mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner));
        for claim in noted {
            let released =
                self.layout.lock().and_then(|guard| claims::release(&self.layout, &claim, &guard));
            if let Err(cause) = released {
                warn!(cause = chain(&cause), "an idempotency key could not be given back");
            }
        }
    }
}

/// Returns the outcome of a record; `None` if the record does not have it as it was: a text with secrets redacted looks like the
/// tool's own, and a model would use it.
fn outcome(detail: CallDetail) -> Option<Result<ToolOutput, ToolError>> {
    let texts = [&detail.result, &detail.error, &detail.hint];
    let is_redacted = texts.into_iter().flatten().any(|text| text.contains(REDACTED));
    if is_redacted || detail.is_head {
        return None;
    }
    let Some(kind) = detail.record.outcome.error_kind() else {
        let value = serde_json::from_str(detail.result.as_deref()?).ok()?;
        return Some(Ok(match value {
            Value::Object(object) if detail.is_content => content(object),
            value => ToolOutput::Value(value),
        }));
    };
    let text = detail.error.unwrap_or_else(|| {
        // The caller dropped the call, or results are not recorded.
        format!("Tool '{}' ended as {}", detail.record.tool, kind.code())
    });
    let error = ToolError::new(kind, text);
    Some(Err(match detail.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }))
}

/// Converts content parts back.
fn content(object: Map<String, Value>) -> ToolOutput {
    match Content::from_object(object) {
        Ok(content) => ToolOutput::Content(content),
        Err(object) => ToolOutput::Value(Value::Object(object)),
    }
}
