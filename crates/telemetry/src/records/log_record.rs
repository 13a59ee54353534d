//! A call's record as a log record of OpenTelemetry.
//!
//! Attributes are those of the spans, by the conventions for generative AI and MCP; the body is the whole record as JSON, as
//! `switchboard calls show --json` prints it. `log.record.uid` is the call's id: a store may drop what it has already.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::KeyValue;
use opentelemetry_proto::{
    tonic::{
        common::v1::{AnyValue, InstrumentationScope, any_value::Value},
        logs::v1::{LogRecord, SeverityNumber},
        resource::v1::Resource,
    },
    transform::common::tonic::{Attributes, ResourceAttributesWithSchema},
};
use switchboard_audit::{CallDetail, StoreNode};
use switchboard_toolcall::ErrorKind;

/// The attribute by which a store knows duplicates.
const UID: &str = "log.record.uid";
/// What kind of event it is.
const EVENT: &str = "switchboard.call";

/// Returns the log record of a call.
pub(super) fn of(detail: &CallDetail) -> LogRecord {
    let record = &detail.record;
    let error = record.outcome.error_kind().map(ErrorKind::code);
    let ended = nanoseconds(record.started + record.duration.unwrap_or(Duration::ZERO));
    let severity = match error {
        None => SeverityNumber::Info,
        Some(_) => SeverityNumber::Error,
    };
    let id = record.id.to_string();
    let body = serde_json::to_string(detail).unwrap_or_default();
    let texts = [
        (UID, Some(id.clone())),
        ("gen_ai.operation.name", Some("execute_tool".to_owned())),
        ("gen_ai.tool.name", Some(record.tool.clone())),
        ("gen_ai.tool.call.id", Some(id.clone())),
        ("gen_ai.conversation.id", record.conversation.clone()),
        ("mcp.method.name", record.server.is_some().then(|| "tools/call".to_owned())),
        ("error.type", error.map(str::to_owned)),
        ("switchboard.call_id", Some(id)),
        ("switchboard.outcome", Some(record.outcome.code().to_owned())),
        ("switchboard.server", record.server.clone()),
        ("switchboard.caller", record.caller.clone()),
        ("switchboard.client", record.client.clone()),
        ("switchboard.profile", record.profile.clone()),
        ("switchboard.reused", record.reused.map(|reused| reused.code().to_owned())),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some(KeyValue::new(key, text?)));
    let took = |took: Duration| KeyValue::new("switchboard.duration_ms", took.as_secs_f64() * 1e3);
    let attributes = texts.chain(record.duration.map(took));
    LogRecord {
        time_unix_nano: ended,
        observed_time_unix_nano: ended,
        severity_number: severity.into(),
        severity_text: if error.is_some() { "ERROR" } else { "INFO" }.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(body)) }),
        attributes: Attributes::from(attributes).0,
        event_name: EVENT.to_owned(),
        ..LogRecord::default()
    }
}

/// Returns the id of the record's call.
pub(super) fn uid(record: &LogRecord) -> String {
    let uid = record.attributes.iter().find(|attribute| attribute.key == UID);
    match uid.and_then(|uid| uid.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(id)) => id.clone(),
        _ => String::new(),
    }
}

/// Returns what a node's records are from: the process that spans name, and its store.
pub(super) fn resource(process: &opentelemetry_sdk::Resource, node: &StoreNode) -> Resource {
    let mut attributes = ResourceAttributesWithSchema::from(process).attributes.0;
    let of_node = [("service.instance.id", &node.id), ("host.name", &node.host)];
    let of_node = of_node.map(|(key, value)| KeyValue::new(key, value.clone()));
    attributes.extend(Attributes::from(of_node).0);
    Resource { attributes, ..Resource::default() }
}

/// Returns the instrumentation scope, the one of spans and metrics.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "switchboard".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
