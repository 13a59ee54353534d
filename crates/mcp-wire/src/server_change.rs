//! Changes at a server, and their notifications.

use serde_json::{Value, json, value::RawValue};

/// Something of a server that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerChange {
    /// Its tools.
    Tools,
    /// Its resources or their templates.
    Resources,
    /// Its prompts.
    Prompts,
    /// The resource of this URI.
    Resource(String),
}

const TOOLS: &str = "notifications/tools/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCE: &str = "notifications/resources/updated";

impl ServerChange {
    /// Parses a notification. Returns `None` if it announces no change.
    pub fn read(method: &str, params: Option<&RawValue>) -> Option<Self> {
        match method {
            TOOLS => Some(Self::Tools),
            RESOURCES => Some(Self::Resources),
            PROMPTS => Some(Self::Prompts),
            RESOURCE => {
                let params: Value = serde_json::from_str(params?.get()).ok()?;
                params["uri"].as_str().map(|uri| Self::Resource(uri.to_owned()))
            }
            _ => None,
        }
    }

    /// Returns the method of its notification, and the parameters.
    pub fn notification(&self) -> (&'static str, Option<Box<RawValue>>) {
        match self {
            Self::Tools => (TOOLS, None),
            Self::Resources => (RESOURCES, None),
            Self::Prompts => (PROMPTS, None),
            Self::Resource(uri) => {
                (RESOURCE, serde_json::value::to_raw_value(&json!({"uri": uri})).ok())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_read_as_they_are_written() {
        let resource = ServerChange::Resource("a://\"1\"".to_owned());
        for change in
            [ServerChange::Tools, ServerChange::Resources, ServerChange::Prompts, resource]
        {
            let (method, params) = change.notification();
            assert_eq!(ServerChange::read(method, params.as_deref()), Some(change));
        }
        let no_uri = RawValue::from_string("{}".to_owned()).unwrap();
        assert_eq!(ServerChange::read(RESOURCE, Some(&no_uri)), None);
        assert_eq!(ServerChange::read(RESOURCE, None), None);
        assert_eq!(ServerChange::read("notifications/message", None), None);
    }
}
