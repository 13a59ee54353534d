//! The tools' output schemas (`structuredContent`).

use serde_json::{Value, json};

/// A page of devices.
pub(crate) fn page() -> Value {
    let mut properties = json!({
        "devices": devices(), "total": count(), "limit": count(), "offset": count(), "nextOffset": count(),
    });
    properties["nextOffset"]["description"] =
        "Where the next page begins, where there is one".into();
    object(properties, &["devices", "total", "limit", "offset"])
}

/// Devices that a filter lets through.
pub(crate) fn list() -> Value {
    let mut properties = json!({"devices": devices(), "count": count(), "inactiveHidden": count()});
    properties["inactiveHidden"]["description"] =
        "Dead and failed devices that are not shown".into();
    object(properties, &["devices", "count", "inactiveHidden"])
}

/// One device.
pub(crate) fn verified() -> Value {
    let mut schema = device();
    schema["properties"]["exists"] = json!({"const": true});
    schema
}

/// The outcome of an order.
pub(crate) fn control() -> Value {
    let properties = json!({
        "device": {"type": "string", "description": "Location/Name"},
        "id": count(),
        "action": {"enum": ["on", "off", "dim"]},
        "level": {"type": "integer", "minimum": 0, "maximum": 100},
        "sent": {"type": "boolean"},
        "confirmed": {"type": "boolean", "description": "Whether the device has reported the new value"},
        "status": {"type": ["string", "null"], "description": "What the gateway said"},
        "value": {"description": "The value that was last seen: true or false, or 0 to 99"},
    });
    object(properties, &["device", "id", "action", "sent", "confirmed", "status", "value"])
}

/// A device's measurements.
pub(crate) fn sensors() -> Value {
    let values = json!({
        "label": {"type": "string"},
        "value": {},
        "unit": {"type": "string"},
        "meaning": {"type": "string", "description": "What the value stands for"},
        "ageSeconds": count(),
        "commandClass": count(),
        "endpoint": count(),
        "property": {"type": ["string", "integer"]},
    });
    let values = object(values, &["label", "value", "commandClass", "endpoint", "property"]);
    let properties = json!({
        "device": {"type": "string", "description": "Location/Name"},
        "id": count(),
        "status": status(),
        "stale": {"type": "boolean"},
        "staleBecause": {"type": "string"},
        "values": {"type": "array", "items": values},
    });
    object(properties, &["device", "id", "status", "stale", "values"])
}

/// How the way to the devices is.
pub(crate) fn health() -> Value {
    let hop = object(
        json!({"state": {"enum": ["up", "down", "unknown"]}, "detail": {"type": "string"}}),
        &["state", "detail"],
    );
    let counts =
        json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}});
    let properties = json!({
        "status": {"enum": ["healthy", "degraded", "unavailable"]},
        "healthy": {"type": "boolean", "description": "Whether all is well: the way is up, and no device is dead"},
        "available": {"type": "boolean", "description": "Whether the devices can be reached"},
        "broker": hop, "gateway": hop, "server": hop, "driver": hop,
        "nodes": counts,
        "latencyMs": {"type": "number"},
        "error": {"type": "string"},
        "ageSeconds": count(),
    });
    object(properties, &["status", "healthy", "available", "ageSeconds"])
}

fn devices() -> Value {
    json!({"type": "array", "items": device()})
}

fn device() -> Value {
    let properties = json!({
        "id": count(),
        "name": {"type": "string"},
        "location": {"type": "string"},
        "type": {"enum": ["switch", "dimmer", "lock", "thermostat", "sensor", "other", "unknown"]},
        "status": status(),
        "active": {"type": "boolean", "description": "Neither dead nor failed"},
        "ready": {"type": "boolean", "description": "Whether its interview has finished, so that it is known what it can do"},
        "actions": {"type": "array", "items": {"enum": ["on", "off", "dim"]}},
        "lastActiveSecondsAgo": count(),
        "product": {"type": "string"},
        "value": {"description": "Whether it is on, or its level from 0 to 99"},
    });
    object(properties, &["id", "name", "location", "type", "status", "active", "ready", "actions"])
}

fn status() -> Value {
    json!({"enum": ["alive", "awake", "asleep", "dead", "unknown"]})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// Allows further properties, since later versions may add some.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}
