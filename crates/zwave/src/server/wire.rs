//! Parses the server's messages.

use jiff::Timestamp;
use serde_json::Value;

use super::connection::ValueUpdate;
use crate::network::{Error, NodeStatus, ValueId, ValueReading, WriteAck, ZwaveNode};

/// The newest schema version that we know: with a status of writes (29) and when nodes were last seen (30).
const SCHEMA: u64 = 31;

/// Returns the schema version to use, from a server's greeting.
pub(super) fn schema(hello: &Value) -> Option<u64> {
    let newest = hello["maxSchemaVersion"].as_u64().filter(|_| hello["type"] == "version")?;
    Some(newest.min(SCHEMA))
}

/// The reply to a command.
pub(super) fn result(command: &str, mut reply: Value) -> Result<Value, Error> {
    match reply["success"] == true {
        true => Ok(reply["result"].take()),
        false => Err(Error::Refused { asked: command.to_owned(), reason: reason(&reply) }),
    }
}

/// Why the server refuses.
pub(super) fn reason(reply: &Value) -> String {
    let keys = ["zwaveErrorMessage", "message", "errorCode"];
    let reason = keys.iter().find_map(|key| reply[*key].as_str());
    reason.unwrap_or("it does not say why").to_owned()
}

/// A node of the state.
pub(super) fn node(node: &Value) -> Option<ZwaveNode> {
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let status = match node["status"].as_u64() {
        Some(1) => NodeStatus::Asleep,
        Some(2) => NodeStatus::Awake,
        Some(3) => NodeStatus::Dead,
        Some(4) => NodeStatus::Alive,
        _ => NodeStatus::Unknown,
    };
    let device = &node["deviceConfig"];
    let product = ["manufacturer", "label"].map(|key| device[key].as_str().unwrap_or_default());
    let product = product.join(" ").trim().to_owned();
    Some(ZwaveNode {
        id: node["nodeId"].as_u64()?,
        name: text("name"),
        location: text("location"),
        is_device: node["isControllerNode"] != true,
        status,
        failed: false,
        ready: node["ready"] == true,
        last_active: node["lastSeen"].as_str().and_then(milliseconds),
        product: Some(product).filter(|product| !product.is_empty()),
        values: node["values"].as_array().into_iter().flatten().filter_map(reading).collect(),
    })
}

fn milliseconds(time: &str) -> Option<u64> {
    u64::try_from(time.parse::<Timestamp>().ok()?.as_millisecond()).ok()
}

fn reading(value: &Value) -> Option<ValueReading> {
    let metadata = &value["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let states = metadata["states"].as_object().into_iter().flatten();
    // Keys of JSON objects are always text, even if they are numbers.
    let key = |key: &str| serde_json::from_str(key).unwrap_or_else(|_| key.into());
    Some(ValueReading {
        id: value_id(value)?,
        label: text(&metadata["label"])
            .or_else(|| text(&value["propertyName"]))
            .unwrap_or_default(),
        unit: text(&metadata["unit"]),
        readable: metadata["readable"] == true,
        value: non_null(value, "value"),
        states: states.filter_map(|(name, word)| Some((key(name), text(word)?))).collect(),
        updated: None,
    })
}

fn value_id(value: &Value) -> Option<ValueId> {
    Some(ValueId {
        command_class: value["commandClass"].as_u64()?,
        endpoint: value["endpoint"].as_u64().unwrap_or_default(),
        property: non_null(value, "property")?,
        property_key: non_null(value, "propertyKey"),
    })
}

fn non_null(value: &Value, key: &str) -> Option<Value> {
    value.get(key).filter(|given| !given.is_null()).cloned()
}

/// The server's reply to a write; before schema 29 only whether it worked.
pub(super) fn written(result: &Value) -> WriteAck {
    let status = match result["success"].as_bool() {
        Some(true) => 254,
        Some(false) => 2,
        None => result["result"]["status"].as_u64().unwrap_or(2),
    };
    WriteAck { status, message: result["result"]["message"].as_str().map(str::to_owned) }
}

/// Returns the value that an event reports, if it reports one.
pub(super) fn changed(event: &Value) -> Option<ValueUpdate> {
    let is_value = event["event"] == "value updated" || event["event"] == "value added";
    if event["source"] != "node" || !is_value {
        return None;
    }
    let args = &event["args"];
    Some(ValueUpdate {
        node: event["nodeId"].as_u64()?,
        id: value_id(args)?,
        value: args.get("newValue")?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // HM-1
    #[test]
    fn writes_are_judged_in_both_forms_of_the_api() {
        let cases = [
            (json!({"result": {"status": 255}}), 255),
            (json!({"result": {"status": 5, "message": "no"}}), 5),
            (json!({"success": true}), 254),
            (json!({"success": false}), 2),
            (json!({}), 2),
        ];
        for (result, status) in cases {
            assert_eq!(written(&result).status, status, "{result}");
        }
    }

    #[test]
    fn we_speak_the_newest_form_that_both_know() {
        let hello = |newest: u64| json!({"type": "version", "maxSchemaVersion": newest});
        assert_eq!(schema(&hello(47)), Some(SCHEMA));
        assert_eq!(schema(&hello(20)), Some(20));
        assert_eq!(schema(&json!({"type": "welcome"})), None);
    }
}
