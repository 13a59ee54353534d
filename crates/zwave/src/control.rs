//! Switches and dims devices, and checks that they did it.

mod write;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::time::Instant;

use crate::{
    device::{self, Device, DeviceKind},
    list::ToolText,
    network::{Error, Network, NodeStatus, WriteAck},
};
use write::Write;

/// The value that means "as bright as last time" to a dimmer, and the full one.
const RESTORE: u64 = 255;
const FULL: u64 = 99;

/// What a device should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControlAction {
    On,
    Off,
    Dim,
}

impl ControlAction {
    fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Dim => "dim",
        }
    }
}

/// A request to a device.
#[derive(Clone, Copy)]
pub(crate) struct ControlOrder {
    action: ControlAction,
    /// In percent.
    level: Option<u8>,
}

impl ControlOrder {
    /// # Errors
    /// Fails if the level is missing, or does not fit the action.
    pub(crate) fn of(action: ControlAction, level: Option<u8>) -> Result<Self, ToolError> {
        match (action, level) {
            (ControlAction::Dim, None) => Err(ToolError::invalid(
                "missing 'level': the action 'dim' needs a level from 0 to 100",
            )),
            (ControlAction::On, Some(0)) => Err(ToolError::invalid(
                "'level' must be over 0 for the action 'on'; the action 'off' switches off",
            )),
            _ => Ok(Self { action, level }),
        }
    }

    /// Returns the write for this device.
    fn for_device(self, device: Device<'_>) -> Result<ControlWrite, ToolError> {
        let exactly = |value: Value| ControlWrite {
            value: value.clone(),
            wanted: ExpectedValue::Exactly(value),
        };
        let at = |percent: u8| exactly(device::level(percent).into());
        match (device.kind(), self.action, self.level) {
            (DeviceKind::Switch, ControlAction::On, _) => Ok(exactly(true.into())),
            (DeviceKind::Switch, ControlAction::Off, _) => Ok(exactly(false.into())),
            (DeviceKind::Dimmer, ControlAction::Off, _) => Ok(at(0)),
            (DeviceKind::Dimmer, _, Some(percent)) => Ok(at(percent)),
            (DeviceKind::Dimmer, ControlAction::On, None) => {
                Ok(ControlWrite { value: RESTORE.into(), wanted: ExpectedValue::On })
            }
            _ => Err(cannot(device, self.action)),
        }
    }
}

/// The value to write, and the value to expect.
struct ControlWrite {
    value: Value,
    wanted: ExpectedValue,
}

enum ExpectedValue {
    Exactly(Value),
    /// Any level but 0.
    On,
}

impl ExpectedValue {
    /// Whether a reported value is the expected one.
    fn is(&self, seen: &Value) -> bool {
        match self {
            Self::Exactly(value) => match (value.as_f64(), seen.as_f64()) {
                (Some(one), Some(other)) => one == other,
                _ => value == seen,
            },
            Self::On => seen.as_f64().is_some_and(|level| level > 0.0),
        }
    }
}

/// Settings and memory for writes to a device.
pub(crate) struct DeviceHabits {
    /// How long the confirmation may take.
    pub(crate) within: Duration,
    /// The last known level of a dimmer that was on.
    pub(crate) last_level: Option<u64>,
}

/// Writes within the time limit. Returns what is known about the outcome.
///
/// # Errors
/// Fails if the device cannot do it, refuses, or cannot be reached.
pub(crate) async fn run(
    network: &dyn Network,
    device: Device<'_>,
    order: ControlOrder,
    DeviceHabits { within, last_level }: DeviceHabits,
) -> Result<ToolText, ControlFailure> {
    if device.awaits_interview() {
        return Err(ControlFailure::NotReady(not_ready(device)));
    }
    let telling = order.for_device(device).map_err(ControlFailure::Refused)?;
    let Some(mut write) = Write::new(network, device) else {
        return Err(ControlFailure::Refused(cannot(device, order.action)));
    };
    let end = Instant::now() + within;
    let restores = telling.value == RESTORE;
    // If the level is to be restored, half of the time is left to try full brightness.
    let first_end = if restores { Instant::now() + within / 2 } else { end };
    let mut outcome = write.carry_out(&telling, first_end).await?;
    let is_dark = write.seen.as_ref().and_then(Value::as_f64) == Some(0.0);
    if restores && is_dark && matches!(outcome, WriteOutcome::Unseen(_)) {
        // The device remembers no level; we may.
        let value = last_level.unwrap_or(FULL).into();
        outcome = write.carry_out(&ControlWrite { value, ..telling }, end).await?;
    }
    Ok(report(device, order, outcome, write.seen.as_ref(), within))
}

/// Why a write failed, or its outcome is unknown.
pub(crate) enum ControlFailure {
    /// It was not sent.
    Refused(ToolError),
    /// It was not sent: the device's capabilities are not known yet, for this reason.
    NotReady(String),
    /// The network cannot be reached.
    Network(Error),
    /// The connection broke after it was sent.
    Unknown(Error),
}

impl ControlFailure {
    /// Converts it to the error of the tool.
    pub(crate) fn of_tool(self, tool: &str) -> ToolError {
        match self {
            Self::Refused(error) => error,
            Self::NotReady(reason) => ToolError::new(
                ErrorKind::Unavailable,
                format!("Tool '{tool}' is unavailable: {reason}"),
            ),
            Self::Network(error) => error.of_tool(tool),
            Self::Unknown(error) => {
                let text = format!(
                    "Tool '{tool}' is unavailable: {error} The command was sent, not confirmed: it may or may not \
                     have happened."
                );
                ToolError::new(ErrorKind::Unavailable, text)
            }
        }
    }
}

/// The outcome of a write.
enum WriteOutcome {
    /// The device reported the value.
    Confirmed(WriteAck),
    /// The gateway accepted it, but the device did not report the value.
    Unseen(WriteAck),
    /// The gateway has not answered.
    Unanswered,
}

/// Returns the text for a device whose capabilities are not known yet, with advice.
fn not_ready(device: Device<'_>) -> String {
    let way_out = match device.node().status {
        NodeStatus::Asleep => "It is asleep: wake it up, and try again",
        NodeStatus::Dead => "It is dead: see that it has power and is in reach, and try again",
        _ => "Try again in a few seconds",
    };
    format!("{} is not ready yet, its interview has not finished. {way_out}", device.path())
}

fn cannot(device: Device<'_>, action: ControlAction) -> ToolError {
    let (path, kind) = (device.path(), device.kind());
    let way_out = match kind.actions() {
        [] => "it can be read with get_device_sensor_data, and takes no actions".to_owned(),
        actions => format!("it takes: {}", actions.join(", ")),
    };
    let what = match kind {
        DeviceKind::Other => "neither a switch nor a dimmer".to_owned(),
        kind => format!("a {}", kind.word()),
    };
    ToolError::invalid(format!("'{}' is not for {path}, which is {what}; {way_out}", action.word()))
}

fn report(
    device: Device<'_>,
    ControlOrder { action, level }: ControlOrder,
    outcome: WriteOutcome,
    seen: Option<&Value>,
    within: Duration,
) -> ToolText {
    let path = device.path();
    let now = seen.map(device::describe_value);
    let seconds = within.as_secs_f64();
    let last = now.as_ref().map_or_else(|| "nothing".to_owned(), Clone::clone);
    let (is_confirmed, status, text) = match &outcome {
        WriteOutcome::Confirmed(written) => {
            let state = match level.filter(|level| *level > 0 && action != ControlAction::Off) {
                Some(level) if device.kind() == DeviceKind::Dimmer => format!("on at {level}%"),
                _ => now.clone().unwrap_or_default(),
            };
            (true, Some(written.word()), format!("{path} is {state}, confirmed by the device."))
        }
        WriteOutcome::Unseen(written) => {
            let text = format!(
                "{path}: '{}' was sent, not confirmed: the gateway took it ({}), but the device has not reported it \
                 within {seconds}s (last seen: {last}).",
                action.word(),
                written.word()
            );
            (false, Some(written.word()), text)
        }
        WriteOutcome::Unanswered => {
            let text = format!(
                "{path}: '{}' was sent, not confirmed: the gateway has not answered within {seconds}s (the device is \
                 {}).",
                action.word(),
                device.node().status.word()
            );
            (false, None, text)
        }
    };
    let mut structured = json!({
        "device": path, "id": device.node().id, "action": action.word(), "sent": true,
        "confirmed": is_confirmed, "status": status, "value": seen,
    });
    if let Some(level) = level {
        structured["level"] = level.into();
    }
    ToolText { text, structured }
}
