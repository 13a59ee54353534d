//! A node that people use, and its capabilities.

use serde_json::{Value, json};

use crate::{
    network::{NodeStatus, ValueId, ValueReading, ZwaveNode},
    time,
};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    Switch,
    Dimmer,
    Lock,
    Thermostat,
    Sensor,
    Other,
    /// Unknown: its interview is incomplete.
    Unknown,
}

impl DeviceKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Dimmer => "dimmer",
            Self::Lock => "lock",
            Self::Thermostat => "thermostat",
            Self::Sensor => "sensor",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the actions of `control_zwave_device` that it supports.
    pub(crate) fn actions(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["on", "off"],
            Self::Dimmer => &["on", "off", "dim"],
            _ => &[],
        }
    }
}

const SWITCH: u64 = 37;
const DIMMER: u64 = 38;
/// The command classes that decide the kind of other devices; the first match wins.
const TELLING: [(DeviceKind, &[u64]); 3] = [
    (DeviceKind::Lock, &[98, 118]),
    (DeviceKind::Thermostat, &[64, 67]),
    (DeviceKind::Sensor, &[48, 49, 50, 113, 128]),
];

/// A node that is neither the controller nor virtual.
#[derive(Clone, Copy)]
pub(crate) struct Device<'a>(&'a ZwaveNode);

impl<'a> Device<'a> {
    /// Returns the node as a device; `None` if it is not one.
    pub(crate) fn of(node: &'a ZwaveNode) -> Option<Self> {
        node.is_device.then_some(Self(node))
    }

    pub(crate) fn node(&self) -> &'a ZwaveNode {
        self.0
    }

    /// Returns its name, or the gateways' default name if it has none.
    pub(crate) fn name(&self) -> String {
        match self.0.name.trim() {
            "" => format!("nodeID_{}", self.0.id),
            name => name.to_owned(),
        }
    }

    /// `Location/Name`.
    pub(crate) fn path(&self) -> String {
        match self.0.location.trim() {
            "" => self.name(),
            location => format!("{location}/{}", self.name()),
        }
    }

    pub(crate) fn kind(&self) -> DeviceKind {
        let has = |classes: &[u64]| {
            self.0.values.iter().any(|value| classes.contains(&value.id.command_class))
        };
        match self.control().map(|control| control.id.command_class) {
            Some(DIMMER) => DeviceKind::Dimmer,
            Some(_) => DeviceKind::Switch,
            None => {
                let unclear = if self.0.ready { DeviceKind::Other } else { DeviceKind::Unknown };
                TELLING.iter().find(|(_, classes)| has(classes)).map_or(unclear, |(kind, _)| *kind)
            }
        }
    }

    /// Returns whether it may turn out to be a switch or a dimmer.
    pub(crate) fn awaits_interview(&self) -> bool {
        !self.0.ready && self.control().is_none()
    }

    /// Returns whether its capabilities may become known within seconds: right after its gateway was started.
    pub(crate) fn is_being_interviewed(&self) -> bool {
        let can_answer = !self.is_inactive() && self.0.status != NodeStatus::Asleep;
        self.awaits_interview() && can_answer
    }

    /// Whether it is dead or failed.
    pub(crate) fn is_inactive(&self) -> bool {
        self.0.failed || self.0.status == NodeStatus::Dead
    }

    /// Describes its kind and status.
    pub(crate) fn line(&self, now: u64) -> String {
        let node = self.0;
        let kind = match self.kind() {
            DeviceKind::Unknown => "not known yet what it is",
            kind => kind.word(),
        };
        let mut line = format!("{} (id {}): {kind}", self.path(), node.id);
        if let Some(state) = self.shown_state() {
            line += &format!(", {state}");
        }
        line += &format!(", {}", self.shown_status());
        if let Some(active) = node.last_active {
            line += &format!(", last heard {}", time::ago(time::age(active, now)));
        }
        line
    }

    /// The same as JSON.
    pub(crate) fn to_json(self, now: u64) -> Value {
        let node = self.0;
        let mut device = json!({
            "id": node.id, "name": self.name(), "location": node.location, "type": self.kind().word(),
            "status": node.status.word(), "active": !self.is_inactive(), "ready": node.ready,
            "actions": self.kind().actions(),
        });
        if let Some(active) = node.last_active {
            device["lastActiveSecondsAgo"] = time::age(active, now).into();
        }
        if let Some(product) = &node.product {
            device["product"] = product.as_str().into();
        }
        if let Some(value) = self.control().and_then(|control| control.value.clone()) {
            device["value"] = value;
        }
        device
    }

    /// Returns the value that shows whether a switch or a dimmer is on.
    ///
    /// If the device has several endpoints, it is that of the lowest one; there, a dimmer comes before a switch, since it can
    /// do more.
    pub(crate) fn control(&self) -> Option<&'a ValueReading> {
        let is_state = |reading: &&ValueReading| {
            matches!(reading.id.command_class, SWITCH | DIMMER)
                && reading.id.property == "currentValue"
        };
        let order =
            |reading: &&ValueReading| (reading.id.endpoint, reading.id.command_class != DIMMER);
        self.0.values.iter().filter(is_state).min_by_key(order)
    }

    /// Returns the id of the value that is written to switch it.
    pub(crate) fn target(&self) -> Option<ValueId> {
        self.control().map(|control| control.id.sibling("targetValue"))
    }

    fn shown_status(&self) -> String {
        match (self.0.failed, self.0.ready) {
            (true, _) => format!("{}, failed", self.0.status.word()),
            (false, false) => format!("{}, not fully interviewed", self.0.status.word()),
            (false, true) => self.0.status.word().to_owned(),
        }
    }

    fn shown_state(&self) -> Option<String> {
        self.control()?.value.as_ref().map(describe_value)
    }
}

/// Describes the value of a switch or a dimmer.
pub(crate) fn describe_value(value: &Value) -> String {
    match (value.as_bool(), value.as_f64()) {
        (Some(true), _) => "on".to_owned(),
        (Some(false), _) => "off".to_owned(),
        (_, Some(0.0)) => "off".to_owned(),
        // Some devices report 255 for "on".
        (_, Some(255.0)) => "on".to_owned(),
        (_, Some(level)) if (1.0..=99.0).contains(&level) => format!("on at {}%", percent(level)),
        _ => value.to_string(),
    }
}

/// Converts percent (0 to 100) to a dimmer's level (0 to 99).
pub(crate) fn level(percent: u8) -> u64 {
    (u64::from(percent) * 99 + 50) / 100
}

/// Converts a dimmer's level to percent.
fn percent(level: f64) -> u64 {
    // Levels are small whole numbers.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = (level * 100.0 / 99.0).round() as u64;
    percent
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1
    #[test]
    fn percents_are_levels_and_back() {
        let cases = [(0, 0), (1, 1), (25, 25), (50, 50), (75, 74), (99, 98), (100, 99)];
        for (said, sent) in cases {
            assert_eq!(level(said), sent, "{said}");
        }
        let back = [(1, "on at 1%"), (74, "on at 75%"), (98, "on at 99%"), (99, "on at 100%")];
        for (level, word) in back {
            assert_eq!(describe_value(&json!(level)), word);
        }
        let words =
            [(json!(true), "on"), (json!(false), "off"), (json!(0), "off"), (json!(255), "on")];
        for (value, word) in words {
            assert_eq!(describe_value(&value), word);
        }
    }
}
