//! The gateway's topics, as it derives them from names.

use serde_json::Value;

use crate::network::{ValueId, ZwaveNode};

/// Returns the id of the gateway with this name; accepts a whole id, too.
pub(super) fn gateway(name: &str) -> String {
    let bare = name.strip_prefix(GATEWAY).unwrap_or(name);
    sanitized(&format!("{GATEWAY}{bare}"))
}

/// The prefix of gateway ids.
pub(super) const GATEWAY: &str = "ZWAVE_GATEWAY-";

/// Returns the topic for requests of `api`.
pub(super) fn api(prefix: &str, gateway: &str, api: &str) -> String {
    format!("{prefix}/_CLIENTS/{gateway}/api/{api}/set")
}

/// Returns every topic, below the prefix, on which a value may be reported: the gateway's settings decide which one it is.
pub(super) fn of_value(node: &ZwaveNode, id: &ValueId) -> Vec<String> {
    let name = match sanitized(&node.name) {
        name if name.is_empty() => format!("nodeID_{}", node.id),
        name => name,
    };
    let location = sanitized(&node.location);
    let property = tail(id);
    let (class, endpoint) = (id.command_class, id.endpoint);
    let named = format!("{}/endpoint_{endpoint}/{property}", class_name(class));
    let numbered = format!("{class}/{endpoint}/{property}");
    let mut topics = Vec::new();
    for node in [name, node.id.to_string()] {
        for value in [&named, &numbered] {
            topics.push(format!("{node}/{value}"));
            if !location.is_empty() {
                topics.push(format!("{location}/{node}/{value}"));
            }
        }
    }
    topics
}

/// The property, and its key if it has one.
fn tail(id: &ValueId) -> String {
    let part = |part: &Value| match part {
        Value::String(text) => sanitized(&text.replace('/', "-")),
        other => other.to_string(),
    };
    match &id.property_key {
        Some(key) => format!("{}/{}", part(&id.property), part(key)),
        None => part(&id.property),
    }
}

/// Replaces spaces by `_`, and drops everything but letters up to `ÿ`, digits, `-`, `_` and `/`.
fn sanitized(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_whitespace() { '_' } else { c });
    let is_kept = |c: &char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '_' | '/' | 'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ÿ')
    };
    spaced.filter(is_kept).collect()
}

fn class_name(class: u64) -> String {
    let name = match class {
        32 => "basic",
        37 => "switch_binary",
        38 => "switch_multilevel",
        48 => "sensor_binary",
        49 => "sensor_multilevel",
        50 => "meter",
        64 => "thermostat_mode",
        66 => "thermostat_operating_state",
        67 => "thermostat_setpoint",
        68 => "thermostat_fan_mode",
        98 => "door_lock",
        112 => "configuration",
        113 => "notification",
        118 => "lock",
        128 => "battery",
        other => return format!("unknownClass_{other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1
    #[test]
    fn names_become_the_topics_that_the_gateway_makes() {
        let cases = [
            ("Demo", "Switch One", "Demo/Switch_One/switch_binary/endpoint_0/currentValue"),
            ("", "Bob's Lamp", "Bobs_Lamp/switch_binary/endpoint_0/currentValue"),
            ("Küche", "Öfchen \"a/b\"", "Küche/Öfchen_a/b/switch_binary/endpoint_0/currentValue"),
            ("", "居間", "nodeID_7/switch_binary/endpoint_0/currentValue"),
            ("", "", "nodeID_7/switch_binary/endpoint_0/currentValue"),
            ("Demo", "Switch One", "Demo/7/37/0/currentValue"),
            ("Demo", "Switch One", "Switch_One/37/0/currentValue"),
        ];
        let id =
            ValueId { command_class: 37, property: "currentValue".into(), ..ValueId::default() };
        for (location, name, topic) in cases {
            let node = ZwaveNode {
                id: 7,
                name: name.into(),
                location: location.into(),
                ..ZwaveNode::default()
            };
            let topics = of_value(&node, &id);
            assert!(topics.iter().any(|own| own == topic), "{topic} is not in {topics:?}");
        }
        let id = ValueId { command_class: 49, property: "Air temperature/in".into(), ..id };
        let topics = of_value(&ZwaveNode { id: 4, ..ZwaveNode::default() }, &id);
        assert_eq!(topics[0], "nodeID_4/sensor_multilevel/endpoint_0/Air_temperature-in");
    }

    #[test]
    fn a_gateway_is_known_by_its_name_or_id() {
        for name in ["my demo", "ZWAVE_GATEWAY-my demo", "ZWAVE_GATEWAY-my_demo"] {
            assert_eq!(gateway(name), "ZWAVE_GATEWAY-my_demo");
        }
    }
}
