//! One operation of a description as the plan and the definition of a tool.

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderValue},
};
use serde_json::{Map, Value, json};
use switchboard_toolcall::{Annotations, ToolOrigin, ToolSettings, ToolSpec};

use crate::{
    base_url,
    body::Body,
    document::{ApiDocument, Version, members},
    parameter::{self, OperationArguments, ParameterLocation},
    request::{PathTemplate, RequestPlan},
    response_schema,
    schema::{SchemaConverter, shortened},
    style::{Serialization, Style},
};

/// The methods that operations have.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// How large the schema of one tool may be, in bytes.
const MAX_SCHEMA: usize = 1 << 20;

/// How much of a description is shown, in characters: more is cut by providers.
const SHOWN: usize = 1000;

/// An operation where it stands in the description.
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// What its path says for all methods.
    item: &'a Value,
    value: &'a Value,
}

/// Everything that the operations of an API share.
pub(crate) struct ApiSetting<'a> {
    pub(crate) api: &'a str,
    pub(crate) separator: &'a str,
    pub(crate) document: &'a ApiDocument,
    pub(crate) base: &'a Url,
    pub(crate) headers: &'a HeaderMap,
    /// Whether each caller has credentials of its own.
    pub(crate) is_per_caller: bool,
    /// Whether requests that are repeated with their key have no second effect.
    pub(crate) honours_keys: bool,
}

/// An operation that can be called.
pub(crate) struct CompiledOperation {
    pub(crate) spec: ToolSpec,
    pub(crate) plan: RequestPlan,
    /// The size of its schema, in bytes.
    pub(crate) size: usize,
}

/// Returns all operations, in order, and the paths that cannot be read, with the reason.
pub(crate) fn all(document: &ApiDocument) -> (Vec<Operation<'_>>, Vec<(String, String)>) {
    let (mut operations, mut broken) = (Vec::new(), Vec::new());
    for (path, item) in
        members(document.root.get("paths")).filter(|(path, _)| !path.starts_with("x-"))
    {
        let item = match document.resolve(item) {
            Ok(found) => found.value,
            Err(reason) => {
                broken.push((path.clone(), reason));
                continue;
            }
        };
        let own = members(Some(item)).filter(|(method, _)| METHODS.contains(&method.as_str()));
        operations.extend(own.map(|(method, value)| Operation { method, path, item, value }));
    }
    (operations, broken)
}

impl Operation<'_> {
    /// Returns the id that the description gives it.
    pub(crate) fn id(&self) -> Option<&str> {
        self.value.get("operationId").and_then(Value::as_str)
    }

    /// `GET /pets/{id}`
    pub(crate) fn place(&self) -> String {
        format!("{} {}", self.method.to_ascii_uppercase(), self.path)
    }

    /// Makes the tool `name`, without the API's own name.
    ///
    /// # Errors
    /// Says why the operation cannot be a tool.
    pub(crate) fn compile(
        &self,
        name: &str,
        within: &ApiSetting<'_>,
        most: usize,
    ) -> Result<CompiledOperation, String> {
        let ApiSetting { document, base, headers, .. } = *within;
        if !self.value.is_object() {
            return Err("it is not an object".to_owned());
        }
        for part in [self.value, self.item] {
            base_url::check_operation(part, base, document)?;
        }
        let path = PathTemplate::parse(self.path)?;
        let declared = parameter::declared(document, self.item, self.value)?;
        let mut converter = SchemaConverter::new(document, MAX_SCHEMA.min(most));
        let mut arguments = OperationArguments::default();
        let mut parameters = Vec::new();
        for parameter in &declared {
            let is_unused =
                parameter["in"] == "path" && !path.names().any(|name| parameter["name"] == name);
            if !is_unused {
                parameters.extend(parameter::read(
                    parameter,
                    document,
                    headers,
                    &mut converter,
                    &mut arguments,
                )?);
            }
        }
        for name in path.names() {
            let is_known = |known: &parameter::ApiParameter| {
                known.place == ParameterLocation::Path && known.name == name
            };
            if !parameters.iter().any(is_known) {
                parameters.push(undeclared(name, &mut arguments));
            }
        }
        let body = Body::read(document, self.value, &declared, &mut converter, &mut arguments)?;
        let (definitions, size) = converter.definitions()?;
        let plan = RequestPlan {
            method: Method::from_bytes(self.method.to_ascii_uppercase().as_bytes())
                .map_err(|error| error.to_string())?,
            path,
            parameters,
            body,
            accept: self.accept(document),
        };
        let spec = self.spec(name, within, schema(arguments, definitions));
        Ok(CompiledOperation { spec, plan, size })
    }

    fn spec(&self, name: &str, within: &ApiSetting<'_>, parameters: Value) -> ToolSpec {
        let full = format!("{}{}{name}", within.api, within.separator);
        ToolSpec {
            output_schema: response_schema::of(within.document, self.value),
            annotations: annotations(self.method),
            origin: ToolOrigin::Server { server: within.api.into(), tool: name.into() },
            settings: ToolSettings {
                per_caller: within.is_per_caller,
                honours_keys: within.honours_keys,
                ..ToolSettings::default()
            },
            ..ToolSpec::new(full, self.description(), parameters)
        }
    }

    /// Returns summary and description.
    fn description(&self) -> String {
        let text = |key: &str| {
            let own = self.value.get(key).or_else(|| self.item.get(key));
            own.and_then(Value::as_str).map(|text| shortened(text, SHOWN)).unwrap_or_default()
        };
        let (summary, described) = (text("summary"), text("description"));
        let whole = match (summary.is_empty(), described.is_empty()) {
            (true, true) => self.place(),
            (false, false) if !described.starts_with(&summary) => {
                format!("{summary}\n\n{described}")
            }
            (false, true) => summary,
            _ => described,
        };
        let is_deprecated = self.value.get("deprecated") == Some(&Value::Bool(true));
        let mark = if is_deprecated { "Deprecated. " } else { "" };
        shortened(&format!("{mark}{whole}"), SHOWN)
    }

    /// Returns what responses are asked for: JSON, if the operation has it.
    fn accept(&self, document: &ApiDocument) -> HeaderValue {
        let mut types: Vec<&str> = Vec::new();
        for (_, response) in
            members(self.value.get("responses")).filter(|(status, _)| status.starts_with('2'))
        {
            let Ok(response) = document.resolve(response) else { continue };
            types.extend(
                members(response.value.get("content")).map(|(media_type, _)| media_type.as_str()),
            );
        }
        if document.version == Version::Swagger2 {
            let produces = self.value.get("produces").or_else(|| document.root.get("produces"));
            types.extend(
                produces.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str),
            );
        }
        let exact = types.iter().find(|media_type| **media_type == "application/json");
        let json =
            exact.or_else(|| types.iter().find(|media_type| response_schema::is_json(media_type)));
        let accept = json.or(types.first()).map(|media_type| format!("{media_type}, */*;q=0.5"));
        let accept = accept.and_then(|accept| HeaderValue::from_str(&accept).ok());
        accept.unwrap_or(HeaderValue::from_static("*/*"))
    }
}

/// GET and HEAD read, PUT and DELETE may be repeated, DELETE destroys (SPEC TK-3).
fn annotations(method: &str) -> Annotations {
    let open_world = Some(true);
    match method {
        "get" | "head" | "options" | "trace" => {
            Annotations { open_world, ..Annotations::READ_ONLY }
        }
        "put" => Annotations {
            read_only: Some(false),
            idempotent: Some(true),
            destructive: None,
            open_world,
        },
        "delete" => Annotations {
            read_only: Some(false),
            idempotent: Some(true),
            destructive: Some(true),
            open_world,
        },
        _ => {
            Annotations { read_only: Some(false), idempotent: None, destructive: None, open_world }
        }
    }
}

/// A name in the path that the description does not declare.
fn undeclared(name: &str, arguments: &mut OperationArguments) -> parameter::ApiParameter {
    let argument = arguments.add(name, "path", json!({"type": "string"}), true);
    let serialization =
        Serialization { style: Style::Simple, explode: false, allow_reserved: false };
    parameter::ApiParameter {
        argument,
        name: name.to_owned(),
        place: ParameterLocation::Path,
        serialization,
    }
}

fn schema(arguments: OperationArguments, definitions: Map<String, Value>) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), arguments.properties.into());
    if !arguments.required.is_empty() {
        schema.insert("required".to_owned(), arguments.required.into());
    }
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    Value::Object(schema)
}
