//! Decides what to do with each call of a turn, before any of them runs.

use serde_json::Map;
use switchboard_models::ModelCall;
use switchboard_toolcall::{ErrorKind, ToolCall, ToolError};

use crate::{
    StopCause,
    repeats::{Repeat, Repeats},
    run::AgentRun,
};

/// What to do with one call.
pub(crate) struct CallStep {
    /// Its position in the message.
    pub(crate) position: usize,
    pub(crate) call: ToolCall,
    /// Why it is not run, if so.
    pub(crate) refused: Option<ToolError>,
    /// A note for the model besides the result.
    pub(crate) nudge: Option<String>,
}

/// What to do with all calls.
pub(crate) struct CallPlan {
    pub(crate) steps: Vec<CallStep>,
    /// The positions of those that are left to the caller.
    pub(crate) foreign: Vec<usize>,
    /// Whether one of them came too often.
    pub(crate) repeats: bool,
}

/// Why none of a turn's calls is run.
pub(crate) enum NotRunReason {
    /// The model reached its token limit in the middle of it.
    Cut,
    /// The conversation no longer fits the model.
    ContextFull,
    /// The provider declined the turn.
    Refused,
    /// The model was not to call anything any more.
    LastTurn,
    /// The results would not be read.
    TokensSpent { spent: u64, budget: u64 },
    /// The results would not be read.
    CostSpent { spent: f64, budget: f64 },
}

impl NotRunReason {
    /// Why the loop stops too, if it does.
    pub(crate) fn stops(&self) -> Option<StopCause> {
        match self {
            Self::Cut => None,
            Self::ContextFull | Self::Refused => Some(StopCause::Answer),
            Self::LastTurn => Some(StopCause::MaxIterations),
            Self::TokensSpent { .. } => Some(StopCause::Budget),
            Self::CostSpent { .. } => Some(StopCause::CostBudget),
        }
    }

    fn error(&self, name: &str) -> ToolError {
        let why = match self {
            Self::Cut => {
                "the turn was cut by its token limit, so the call may be incomplete; make it again, with less text"
                    .to_owned()
            }
            Self::ContextFull => "the conversation no longer fits the model".to_owned(),
            Self::Refused => "the provider declined the turn".to_owned(),
            Self::LastTurn => "no more calls are allowed in this run".to_owned(),
            Self::TokensSpent { spent, budget } => {
                format!("{spent} tokens are spent, the budget was {budget}")
            }
            Self::CostSpent { spent, budget } => {
                format!("the run has cost {spent}, the budget was {budget}")
            }
        };
        not_run(name, &why)
    }
}

/// The failure of a call that was not even begun.
pub(crate) fn not_run(name: &str, why: &str) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, format!("Tool '{name}' was not run: {why}"))
}

/// Decides for each call.
pub(crate) fn calls(
    run: &mut AgentRun<'_>,
    calls: &[ModelCall],
    held: Option<&NotRunReason>,
) -> CallPlan {
    let steps = Vec::with_capacity(calls.len());
    let mut plan = CallPlan { steps, foreign: Vec::new(), repeats: false };
    for (position, call) in calls.iter().enumerate() {
        if held.is_none() && run.agent.is_foreign(&call.name) {
            plan.foreign.push(position);
            continue;
        }
        let (tool_call, problem) = match call.to_tool_call() {
            Ok(call) => (call, None),
            Err(unparsable) => {
                let empty = ToolCall::new(call.name.clone(), Map::new()).with_id(call.id.clone());
                let tool = run.agent.tool(&call.name);
                let error = ToolError::invalid(unparsable);
                (
                    empty,
                    Some(match tool.and_then(|tool| tool.required()) {
                        Some(required) => error.with_hint(required),
                        None => error,
                    }),
                )
            }
        };
        let mut step = CallStep { position, call: tool_call, refused: problem, nudge: None };
        if let Some(held) = held {
            step.refused = Some(held.error(&call.name));
        } else {
            if !run.may_call(&call.name) {
                let text = format!("Tool '{}' not found", call.name);
                step.refused = Some(ToolError::new(ErrorKind::NotFound, text));
            }
            plan.repeats |= !polls(run, call) && repeated(&mut run.repeats, call, &mut step);
        }
        plan.steps.push(step);
    }
    plan
}

/// Counts the call. Returns `true` if it was repeated too often.
fn repeated(repeats: &mut Repeats, call: &ModelCall, step: &mut CallStep) -> bool {
    match repeats.count(call) {
        Repeat::Fine => false,
        Repeat::Nudge(text) => {
            step.nudge = Some(text);
            false
        }
        Repeat::Stop(text) => {
            step.refused = Some(ToolError::new(ErrorKind::Cancelled, text));
            true
        }
    }
}

/// Whether the tool may be called with the same arguments as often as the model likes.
fn polls(run: &AgentRun<'_>, call: &ModelCall) -> bool {
    run.agent.config.polling_tools.matches(&call.name)
}
