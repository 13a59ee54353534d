//! A device's measurements.

use serde_json::{Value, json};
use switchboard_toolcall::time::unix_milliseconds;

use crate::{
    device::Device,
    list::ToolText,
    network::{Network, ValueReading},
    time,
};

/// Command classes about the device itself, not its measurements: association, firmware, configuration and the like.
const HOUSEKEEPING: &[u64] = &[
    32, 34, 85, 86, 89, 90, 91, 94, 96, 108, 112, 114, 115, 122, 132, 133, 134, 135, 142, 152, 159,
];

/// Returns all measurements of the device, with units and age.
pub(crate) async fn read(network: &dyn Network, device: Device<'_>) -> ToolText {
    let mut readings: Vec<_> =
        device.node().values.iter().filter(|reading| is_measured(reading)).cloned().collect();
    for reading in &mut readings {
        if reading.updated.is_none() {
            reading.updated = network.updated(device.node(), &reading.id).await;
        }
    }
    report(device, &readings, stale_because(&device), unix_milliseconds())
}

/// Returns the last known values, for when they cannot be read now.
pub(crate) fn remembered(device: Device<'_>, reason: &str) -> ToolText {
    let readings: Vec<_> =
        device.node().values.iter().filter(|reading| is_measured(reading)).cloned().collect();
    report(device, &readings, Some(reason.to_owned()), unix_milliseconds())
}

fn report(
    device: Device<'_>,
    readings: &[ValueReading],
    stale: Option<String>,
    now: u64,
) -> ToolText {
    let mut text = match readings {
        [] if !device.node().ready => {
            format!("{} has reported no values yet: its interview has not finished.", device.path())
        }
        [] => format!("{} reports no values.", device.path()),
        _ => format!("{}:", device.path()),
    };
    for reading in readings {
        text += &format!("\n- {}", line(reading, now));
    }
    if let Some(reason) = &stale {
        text += &format!("\nThese values are stale: {reason}.");
    }
    let mut structured = json!({
        "device": device.path(), "id": device.node().id, "status": device.node().status.word(),
        "stale": stale.is_some(),
        "values": readings.iter().map(|reading| to_json(reading, now)).collect::<Vec<_>>(),
    });
    if let Some(reason) = stale {
        structured["staleBecause"] = reason.into();
    }
    ToolText { text, structured }
}

/// Returns why a device's values may be outdated.
fn stale_because(device: &Device<'_>) -> Option<String> {
    let node = device.node();
    let heard = node.last_active.map(|then| time::ago(time::age(then, unix_milliseconds())));
    let heard = heard.map(|ago| format!(", it was last heard {ago}")).unwrap_or_default();
    device.is_inactive().then(|| format!("the device is dead or failed{heard}"))
}

fn is_measured(reading: &ValueReading) -> bool {
    let is_target = matches!(reading.id.property.as_str(), Some("targetValue" | "duration"));
    let is_housekeeping = HOUSEKEEPING.contains(&reading.id.command_class);
    reading.readable && reading.value.is_some() && !is_target && !is_housekeeping
}

fn line(reading: &ValueReading, now: u64) -> String {
    let value = match (&reading.value, word(reading)) {
        (_, Some(word)) => word.to_owned(),
        (Some(Value::String(text)), None) => text.clone(),
        (Some(value), None) => value.to_string(),
        (None, None) => "unknown".to_owned(),
    };
    let unit = reading.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    let part = match reading.id.endpoint {
        0 => String::new(),
        endpoint => format!(" [endpoint {endpoint}]"),
    };
    let age = match reading.updated {
        Some(then) => time::ago(time::age(then, now)),
        None => "age unknown".to_owned(),
    };
    format!("{}{part}: {value}{unit} ({age})", reading.label)
}

fn to_json(reading: &ValueReading, now: u64) -> Value {
    let mut value = json!({
        "label": reading.label, "value": reading.value, "commandClass": reading.id.command_class,
        "endpoint": reading.id.endpoint, "property": reading.id.property,
    });
    if let Some(unit) = &reading.unit {
        value["unit"] = unit.as_str().into();
    }
    if let Some(word) = word(reading) {
        value["meaning"] = word.into();
    }
    if let Some(then) = reading.updated {
        value["ageSeconds"] = time::age(then, now).into();
    }
    value
}

/// Returns the name of the value, if it has one.
fn word(reading: &ValueReading) -> Option<&str> {
    let value = reading.value.as_ref()?;
    let state = reading.states.iter().find(|(state, _)| state == value);
    state.map(|(_, word)| word.as_str())
}
