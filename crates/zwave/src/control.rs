//! Switches and dims, and makes sure that it happened.

mod write;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::time::Instant;

use crate::{
    device::{self, Device, Kind},
    list::Listed,
    network::{Error, Network, Status, Written},
};
use write::Write;

/// What a dimmer takes for "as bright as last time", and as full.
const RESTORE: u64 = 255;
const FULL: u64 = 99;

/// What a device is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    On,
    Off,
    Dim,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Dim => "dim",
        }
    }
}

/// What somebody asks of a device.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    action: Action,
    /// In percent.
    level: Option<u8>,
}

impl Order {
    /// # Errors
    /// The level is missing, or does not go with the action.
    pub(crate) fn of(action: Action, level: Option<u8>) -> Result<Self, ToolError> {
        match (action, level) {
            (Action::Dim, None) => Err(ToolError::invalid(
                "missing 'level': the action 'dim' needs a level from 0 to 100",
            )),
            (Action::On, Some(0)) => Err(ToolError::invalid(
                "'level' must be over 0 for the action 'on'; the action 'off' switches off",
            )),
            _ => Ok(Self { action, level }),
        }
    }

    /// How it is told to this device.
    fn for_device(self, device: Device<'_>) -> Result<Telling, ToolError> {
        let exactly =
            |value: Value| Telling { value: value.clone(), wanted: Wanted::Exactly(value) };
        let at = |percent: u8| exactly(device::level(percent).into());
        match (device.kind(), self.action, self.level) {
            (Kind::Switch, Action::On, _) => Ok(exactly(true.into())),
            (Kind::Switch, Action::Off, _) => Ok(exactly(false.into())),
            (Kind::Dimmer, Action::Off, _) => Ok(at(0)),
            (Kind::Dimmer, _, Some(percent)) => Ok(at(percent)),
            (Kind::Dimmer, Action::On, None) => {
                Ok(Telling { value: RESTORE.into(), wanted: Wanted::On })
            }
            _ => Err(cannot(device, self.action)),
        }
    }
}

/// What is written, and what must come back.
struct Telling {
    value: Value,
    wanted: Wanted,
}

enum Wanted {
    Exactly(Value),
    /// Any level but 0.
    On,
}

impl Wanted {
    /// Whether a value is as wanted.
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

/// How this household does it.
pub(crate) struct Habits {
    /// How long it may take to be confirmed.
    pub(crate) within: Duration,
    /// The level that a dimmer was last seen at when it was on.
    pub(crate) last_level: Option<u64>,
}

/// Does it, within the time, and tells what is known of it.
///
/// # Errors
/// The device cannot do it, refuses, or cannot be reached.
pub(crate) async fn run(
    network: &dyn Network,
    device: Device<'_>,
    order: Order,
    Habits { within, last_level }: Habits,
) -> Result<Listed, Failure> {
    if device.awaits_interview() {
        return Err(Failure::NotReady(not_ready(device)));
    }
    let telling = order.for_device(device).map_err(Failure::Refused)?;
    let Some(mut write) = Write::new(network, device) else {
        return Err(Failure::Refused(cannot(device, order.action)));
    };
    let end = Instant::now() + within;
    let restores = telling.value == RESTORE;
    // Where the level is to be restored, half of the time is left for full light.
    let first_end = if restores { Instant::now() + within / 2 } else { end };
    let mut outcome = write.carry_out(&telling, first_end).await?;
    let is_dark = write.seen.as_ref().and_then(Value::as_f64) == Some(0.0);
    if restores && is_dark && matches!(outcome, Outcome::Unseen(_)) {
        // It remembers no level; perhaps we do.
        let value = last_level.unwrap_or(FULL).into();
        outcome = write.carry_out(&Telling { value, ..telling }, end).await?;
    }
    Ok(told(device, order, outcome, write.seen.as_ref(), within))
}

/// Why nothing, or not enough, is known to have happened.
pub(crate) enum Failure {
    /// It was not sent.
    Refused(ToolError),
    /// It was not sent: what the device can do is not known yet, for this reason.
    NotReady(String),
    /// The way there is broken.
    Network(Error),
    /// The connection broke after it was sent.
    Unknown(Error),
}

impl Failure {
    /// The error of the tool.
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

/// What a write came to.
enum Outcome {
    /// The value came back.
    Confirmed(Written),
    /// The gateway took it; the value did not come back.
    Unseen(Written),
    /// The gateway has not answered.
    Unanswered,
}

/// Says that nobody can tell yet what a device can do, and what to do about it.
fn not_ready(device: Device<'_>) -> String {
    let way_out = match device.node().status {
        Status::Asleep => "It is asleep: wake it up, and try again",
        Status::Dead => "It is dead: see that it has power and is in reach, and try again",
        _ => "Try again in a few seconds",
    };
    format!("{} is not ready yet, its interview has not finished. {way_out}", device.path())
}

fn cannot(device: Device<'_>, action: Action) -> ToolError {
    let (path, kind) = (device.path(), device.kind());
    let way_out = match kind.actions() {
        [] => "it can be read with get_device_sensor_data, and takes no actions".to_owned(),
        actions => format!("it takes: {}", actions.join(", ")),
    };
    let what = match kind {
        Kind::Other => "neither a switch nor a dimmer".to_owned(),
        kind => format!("a {}", kind.word()),
    };
    ToolError::invalid(format!("'{}' is not for {path}, which is {what}; {way_out}", action.word()))
}

fn told(
    device: Device<'_>,
    Order { action, level }: Order,
    outcome: Outcome,
    seen: Option<&Value>,
    within: Duration,
) -> Listed {
    let path = device.path();
    let now = seen.map(device::shown);
    let seconds = within.as_secs_f64();
    let last = now.as_ref().map_or_else(|| "nothing".to_owned(), Clone::clone);
    let (is_confirmed, status, text) = match &outcome {
        Outcome::Confirmed(written) => {
            let state = match level.filter(|level| *level > 0 && action != Action::Off) {
                Some(level) if device.kind() == Kind::Dimmer => format!("on at {level}%"),
                _ => now.clone().unwrap_or_default(),
            };
            (true, Some(written.word()), format!("{path} is {state}, confirmed by the device."))
        }
        Outcome::Unseen(written) => {
            let text = format!(
                "{path}: '{}' was sent, not confirmed: the gateway took it ({}), but the device has not reported it \
                 within {seconds}s (last seen: {last}).",
                action.word(),
                written.word()
            );
            (false, Some(written.word()), text)
        }
        Outcome::Unanswered => {
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
    Listed { text, structured }
}
