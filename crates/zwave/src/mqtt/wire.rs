//! Parses the gateway's messages.

use serde_json::{Value, json};

use crate::network::{Error, NodeStatus, ValueId, ValueReading, WriteAck, ZwaveNode};

/// The API's reply if it has no driver.
const NO_DRIVER: &str = "client not connected";
const CHECK_DRIVER: &str =
    "is the Z-Wave stick plugged in, and does zwave-js-ui show it as connected?";

/// A reply of the API.
pub(super) fn result(api: &str, mut reply: Value) -> Result<Value, Error> {
    if reply["success"] == true {
        return Ok(reply["result"].take());
    }
    let reason = reply["message"].as_str().unwrap_or("it does not say why").to_owned();
    if reason.contains(NO_DRIVER) {
        let service = "the Z-Wave stick".to_owned();
        return Err(Error::Unreachable { service, reason, check: CHECK_DRIVER });
    }
    Err(Error::Refused { asked: api.to_owned(), reason })
}

/// Returns whether the driver works, if a reply of the API shows it.
pub(super) fn is_driver_up(reply: &Value) -> Option<bool> {
    match (reply["success"].as_bool(), reply["message"].as_str()) {
        (Some(true), _) => Some(true),
        (_, Some(reason)) if reason.contains(NO_DRIVER) => Some(false),
        _ => None,
    }
}

/// A node of `getNodes`.
pub(super) fn node(node: &Value) -> Option<ZwaveNode> {
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let is = |key: &str| node[key] == true;
    let product = ["manufacturer", "productLabel"].map(text).join(" ");
    let values = node["values"].as_object().into_iter().flatten();
    Some(ZwaveNode {
        id: node["id"].as_u64()?,
        name: text("name"),
        location: text("loc"),
        is_device: !is("isControllerNode") && !is("virtual"),
        status: NodeStatus::of_word(&text("status")),
        failed: is("failed"),
        ready: is("ready"),
        last_active: node["lastActive"].as_u64(),
        product: Some(product.trim().to_owned()).filter(|product| !product.is_empty()),
        values: values.filter_map(|(_, value)| reading(value)).collect(),
    })
}

fn reading(value: &Value) -> Option<ValueReading> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let non_null = |key: &str| value.get(key).filter(|given| !given.is_null()).cloned();
    let states = value["states"].as_array().into_iter().flatten();
    let state = |state: &Value| Some((state["value"].clone(), state["text"].as_str()?.to_owned()));
    Some(ValueReading {
        id: ValueId {
            command_class: value["commandClass"].as_u64()?,
            endpoint: value["endpoint"].as_u64().unwrap_or_default(),
            property: non_null("property")?,
            property_key: non_null("propertyKey"),
        },
        label: text("label").or_else(|| text("propertyName")).unwrap_or_default(),
        unit: text("unit"),
        readable: value["readable"] == true,
        value: non_null("value"),
        states: states.filter_map(state).collect(),
        updated: value["lastUpdate"].as_u64(),
    })
}

/// A value's id as the API takes it.
pub(super) fn value_id(node: &ZwaveNode, id: &ValueId) -> Value {
    let mut value = id.to_json();
    value["nodeId"] = json!(node.id);
    value
}

/// The gateway's reply to a write; without a status it failed.
pub(super) fn written(result: &Value) -> WriteAck {
    WriteAck {
        status: result["status"].as_u64().unwrap_or(2),
        message: result["message"].as_str().map(str::to_owned),
    }
}

/// Parses the value of a message on a value topic, in any format of the gateway; `None` if it is of another node.
pub(super) fn value(payload: &[u8], node: u64) -> Option<Value> {
    let Ok(value) = serde_json::from_slice::<Value>(payload) else {
        return Some(String::from_utf8_lossy(payload).into());
    };
    match &value {
        Value::Object(object) if object.get("nodeId").is_some_and(|id| *id != node) => None,
        Value::Object(object) => object.get("value").cloned(),
        _ => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1
    #[test]
    fn values_come_in_three_forms() {
        let cases: [(&str, Option<Value>); 6] = [
            (r#"{"time":1,"value":true}"#, Some(json!(true))),
            (r#"{"id":"2-37-0-currentValue","nodeId":2,"value":42}"#, Some(json!(42))),
            (r#"{"id":"3-37-0-currentValue","nodeId":3,"value":42}"#, None),
            (r#"{"time":1}"#, None),
            ("99", Some(json!(99))),
            ("on", Some(json!("on"))),
        ];
        for (payload, expected) in cases {
            assert_eq!(value(payload.as_bytes(), 2), expected, "{payload}");
        }
    }

    // HM-1: what a live zwave-js-ui answered, shortened.
    #[test]
    fn nodes_are_read_as_the_gateway_tells_them() {
        let reply = serde_json::from_str(include_str!("../../tests/getNodes.json")).unwrap();
        let nodes = result("getNodes", reply).unwrap();
        let nodes: Vec<_> = nodes.as_array().unwrap().iter().filter_map(node).collect();
        let seen: Vec<_> = nodes
            .iter()
            .map(|node| (node.id, node.location.as_str(), node.name.as_str(), node.is_device))
            .collect();
        let expected = [
            (255, "", "Broadcast", false),
            (1, "", "", false),
            (2, "Demo", "Switch One", true),
            (3, "Bed Room", "Bedroom Lamp", true),
            (4, "", "Temp Sensor 1", true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(
            (nodes[2].status, nodes[2].failed, nodes[2].ready),
            (NodeStatus::Alive, false, true)
        );
        let temperature =
            nodes[4].values.iter().find(|value| value.label == "Air temperature").unwrap();
        assert_eq!(temperature.value, Some(json!(21.5)));
        assert_eq!(temperature.unit.as_deref(), Some("°C"));
        assert_eq!(temperature.updated, Some(1_794_726_122_308));
        let current =
            nodes[2].values.iter().find(|value| value.id.property == "currentValue").unwrap();
        assert_eq!(
            value_id(&nodes[2], &current.id.sibling("targetValue")),
            json!({"commandClass": 37, "endpoint": 0, "property": "targetValue", "nodeId": 2})
        );
    }

    // HM-1
    #[test]
    fn refusals_of_the_api_are_told_apart() {
        let cases = [
            (json!({"success": false, "message": "Unknown API"}), "refused `x`: Unknown API"),
            (
                json!({"success": false, "message": "Z-Wave client not connected"}),
                "the Z-Wave stick could not be reached",
            ),
            (json!({}), "it does not say why"),
        ];
        for (reply, words) in cases {
            let error = result("x", reply).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_write_without_a_status_failed() {
        let cases = [
            (json!({"status": 255}), true),
            (json!({"status": 254}), true),
            (json!({"status": 1}), true),
            (json!({"status": 5, "message": "no"}), false),
            (json!(null), false),
        ];
        for (result, is_ok) in cases {
            assert_eq!(written(&result).is_ok(), is_ok, "{result}");
        }
    }
}
