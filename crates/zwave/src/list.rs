//! Lists devices.

use serde_json::{Value, json};
use switchboard_toolcall::time::unix_milliseconds;

use crate::{device::Device, network::ZwaveNode, unicode};

/// A tool's result, as text for people and as JSON for programs.
pub(crate) struct ToolText {
    pub(crate) text: String,
    pub(crate) structured: Value,
}

/// A page of all devices.
pub(crate) fn page(nodes: &[ZwaveNode], limit: usize, offset: usize) -> ToolText {
    let now = unix_milliseconds();
    let devices: Vec<_> = nodes.iter().filter_map(Device::of).collect();
    let total = devices.len();
    let page: Vec<_> = devices.into_iter().skip(offset).take(limit).collect();
    let end = offset + page.len();
    let mut text = match (page.is_empty(), total) {
        (_, 0) => "There are no Z-Wave devices.".to_owned(),
        (true, _) => format!("There are {total} Z-Wave devices, none from {offset} on."),
        (false, _) => format!("Z-Wave devices {} to {end} of {total}:", offset + 1),
    };
    text += &lines(&page, now);
    let mut structured = json!({
        "devices": page.into_iter().map(|device| device.to_json(now)).collect::<Vec<_>>(),
        "total": total, "limit": limit, "offset": offset,
    });
    if end < total && end > offset {
        text += &format!("\nThe next ones: offset {end}.");
        structured["nextOffset"] = end.into();
    }
    ToolText { text, structured }
}

/// Returns the devices whose name or location contains `filter`; dead and failed ones only on request.
pub(crate) fn matching(nodes: &[ZwaveNode], filter: &str, include_inactive: bool) -> ToolText {
    let now = unix_milliseconds();
    let filter = unicode::folded(filter.trim());
    let is_meant = |device: &Device<'_>| unicode::folded(&device.path()).contains(&filter);
    let is_shown = |device: &Device<'_>| include_inactive || !device.is_inactive();
    let meant = nodes.iter().filter_map(Device::of).filter(is_meant);
    let (devices, hidden): (Vec<_>, Vec<_>) = meant.partition(is_shown);
    let hidden = hidden.len();
    let mut text = match devices.len() {
        0 => "No Z-Wave device is like that.".to_owned(),
        1 => "1 Z-Wave device:".to_owned(),
        count => format!("{count} Z-Wave devices:"),
    };
    text += &lines(&devices, now);
    if hidden > 0 {
        text += &format!("\nDead or failed and not shown: {hidden} (includeInactive shows them).");
    }
    let count = devices.len();
    let devices: Vec<_> = devices.into_iter().map(|device| device.to_json(now)).collect();
    ToolText {
        text,
        structured: json!({"devices": devices, "count": count, "inactiveHidden": hidden}),
    }
}

/// Describes one device in detail.
pub(crate) fn verified(device: Device<'_>) -> ToolText {
    let now = unix_milliseconds();
    let actions = match device.kind().actions() {
        [] if device.awaits_interview() => {
            "Its interview has not finished: what it can do is not known yet.".to_owned()
        }
        [] => "It takes no actions.".to_owned(),
        actions => format!("It takes: {}.", actions.join(", ")),
    };
    let mut structured = device.to_json(now);
    structured["exists"] = true.into();
    ToolText { text: format!("{}. {actions}", device.line(now)), structured }
}

fn lines(devices: &[Device<'_>], now: u64) -> String {
    devices.iter().map(|device| format!("\n- {}", device.line(now))).collect()
}
