//! The tools as `tools/list` shows them, written once per change.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_runtime::{RegisteredTool, ToolManager};
use switchboard_toolcall::{ProfileRules, ToolSpec, Visibility};
use tokio::sync::watch;

use switchboard_mcp_wire::Method;
use switchboard_mcp_wire::headers::{self, ParameterHeader};

/// The tools, with the list that was made of them last.
pub(super) struct ToolCatalog {
    manager: Arc<ToolManager>,
    version: watch::Receiver<u64>,
    listed: Mutex<Vec<ToolListing>>,
}

/// The listed tools of one version of the collection.
#[derive(Clone, Default)]
struct ToolListing {
    version: u64,
    /// The profile as which they are listed.
    rules: Option<Arc<ProfileRules>>,
    /// Tools that are listed whatever the profile says.
    names: &'static [&'static str],
    tools: Arc<Vec<ListedTool>>,
    /// The tools that want parameters in headers; usually none.
    headers: Arc<HashMap<Arc<str>, Arc<Vec<ParameterHeader>>>>,
}

/// A tool, with its entry in a list.
pub(crate) struct ListedTool {
    pub(crate) tool: Arc<RegisteredTool>,
    pub(crate) entry: Box<RawValue>,
}

impl ToolCatalog {
    pub(super) fn new(manager: &Arc<ToolManager>) -> Self {
        Self { manager: manager.clone(), version: manager.version(), listed: Mutex::default() }
    }

    pub(super) fn separator(&self) -> &str {
        self.manager.separator()
    }

    /// Returns the hidden tool that calls `method` of a server.
    pub(super) fn method(&self, method: Method, server: &str) -> Option<Arc<RegisteredTool>> {
        self.manager.get(&method.call_name(server, self.separator()))
    }

    /// Whether the policy denies `method` of a server for all arguments.
    pub(super) fn denies(&self, method: Method, server: &str) -> bool {
        self.method(method, server).is_some_and(|tool| self.manager.is_denied(&tool))
    }

    /// Returns all tools of the profile, if there is one, in order.
    pub(super) fn all(&self, visibility: &Visibility) -> Arc<Vec<ListedTool>> {
        self.listed(visibility).tools
    }

    /// Returns the headers that repeat parameters of the tool, if it has any.
    pub(super) fn parameter_headers(
        &self,
        name: &str,
        visibility: &Visibility,
    ) -> Option<Arc<Vec<ParameterHeader>>> {
        self.listed(visibility).headers.get(name).cloned()
    }

    fn listed(&self, visibility: &Visibility) -> ToolListing {
        let version = *self.version.borrow();
        let rules = visibility.rules();
        if visibility.profile().is_some() && rules.is_none() {
            return ToolListing::default();
        }
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.retain(|known| known.version == version);
        let own = rules.as_ref().map(Arc::as_ptr);
        let names = visibility.added_names();
        let known = listed
            .iter()
            .find(|known| known.rules.as_ref().map(Arc::as_ptr) == own && known.names == names);
        if let Some(known) = known {
            return known.clone();
        }
        let profile = visibility.profile().cloned();
        let whole = profile.map(Visibility::of_profile).unwrap_or_default().with_names(names);
        let new = self.list(version, rules, &whole);
        listed.push(new.clone());
        new
    }

    fn list(
        &self,
        version: u64,
        rules: Option<Arc<ProfileRules>>,
        whole: &Visibility,
    ) -> ToolListing {
        let tools = self.manager.all_for(whole);
        let wanted = |tool: &Arc<RegisteredTool>| {
            let found = headers::of_schema(&tool.spec().parameters).ok();
            let found = found.filter(|found| !found.is_empty())?;
            Some((tool.name().clone(), Arc::new(found)))
        };
        let headers = tools.iter().filter_map(wanted).collect();
        let entry = |tool: Arc<RegisteredTool>| {
            let entry = serde_json::value::to_raw_value(&ToolEntry(&tool)).ok()?;
            Some(ListedTool { tool, entry })
        };
        let listed = tools.into_iter().filter(|tool| !self.manager.is_denied(tool));
        let tools = listed.filter_map(entry).collect();
        let names = whole.added_names();
        ToolListing { version, rules, names, tools: Arc::new(tools), headers: Arc::new(headers) }
    }
}

/// A tool's entry in a list.
struct ToolEntry<'a>(&'a RegisteredTool);

impl Serialize for ToolEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spec = self.0.spec();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &**self.0.name())?;
        if !spec.description.is_empty() {
            map.serialize_entry("description", &spec.description)?;
        }
        map.serialize_entry("inputSchema", &*input_schema(&spec.parameters))?;
        if let Some(schema) = &spec.output_schema {
            map.serialize_entry("outputSchema", schema)?;
        }
        if let Some(annotations) = annotations(spec) {
            map.serialize_entry("annotations", &annotations)?;
        }
        for (key, value) in &spec.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Returns the schema with `type: object`, which clients insist on.
fn input_schema(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "object") => {
            Cow::Borrowed(schema)
        }
        Value::Object(fields) => {
            let kind = ("type".to_owned(), json!("object"));
            let others = fields.iter().filter(|(key, _)| *key != "type");
            let others = others.map(|(key, value)| (key.clone(), value.clone()));
            Cow::Owned(Value::Object(std::iter::once(kind).chain(others).collect()))
        }
        _ => Cow::Owned(json!({"type": "object"})),
    }
}

/// Returns the annotations of a local tool; those of a server's tool are among its other fields, unchanged.
fn annotations(spec: &ToolSpec) -> Option<Map<String, Value>> {
    if spec.extra.contains_key("annotations") {
        return None;
    }
    let hints = [
        ("readOnlyHint", spec.annotations.read_only),
        ("destructiveHint", spec.annotations.destructive),
        ("idempotentHint", spec.annotations.idempotent),
        ("openWorldHint", spec.annotations.open_world),
    ];
    let told = hints.into_iter().filter_map(|(key, hint)| Some((key.to_owned(), hint?.into())));
    let told: Map<_, _> = told.collect();
    (!told.is_empty()).then_some(told)
}
