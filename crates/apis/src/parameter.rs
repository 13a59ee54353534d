//! The parameters of an operation: where they stand in the request, and how they are written there.

use std::collections::HashSet;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName};
use serde_json::{Map, Value, json};
use switchboard_local::http::header_name;

use crate::{
    document::{ApiDocument, Version},
    name,
    schema::{SchemaConverter, shortened},
    style::{Serialization, Style},
};

/// How much of a description is shown, in characters.
const SHOWN: usize = 500;

/// Where a parameter stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Path,
    Query,
    Header(HeaderName),
    Cookie,
}

/// A parameter that callers give.
#[derive(Clone, Debug)]
pub(crate) struct ApiParameter {
    /// What callers call it.
    pub(crate) argument: String,
    /// What the API calls it.
    pub(crate) name: String,
    pub(crate) place: ParameterLocation,
    pub(crate) serialization: Serialization,
}

/// The arguments of a tool, while its operation is read.
#[derive(Default)]
pub(crate) struct OperationArguments {
    pub(crate) properties: Map<String, Value>,
    pub(crate) required: Vec<String>,
    pub(crate) taken: HashSet<String>,
}

impl OperationArguments {
    /// Adds an argument under a name that is free.
    pub(crate) fn add(
        &mut self,
        name: &str,
        place: &str,
        schema: Value,
        is_required: bool,
    ) -> String {
        let argument = name::argument(name, place, &self.taken);
        self.taken.insert(argument.clone());
        self.properties.insert(argument.clone(), schema);
        if is_required {
            self.required.push(argument.clone());
        }
        argument
    }
}

/// Returns the parameters of an operation, in order, those of its path included. What is in `body` or `formData` is left to
/// the body.
///
/// # Errors
/// One refers to nothing.
pub(crate) fn declared<'a>(
    document: &'a ApiDocument,
    item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<&'a Value>, String> {
    let mut found: Vec<&Value> = Vec::new();
    let both = [item.get("parameters"), operation.get("parameters")];
    for parameter in both.into_iter().flatten().filter_map(Value::as_array).flatten() {
        let parameter = document.resolve(parameter)?.value;
        let key = |parameter: &Value| (parameter["name"].clone(), parameter["in"].clone());
        // The operation's own replace those of the path.
        match found.iter_mut().find(|known| key(known) == key(parameter)) {
            Some(known) => *known = parameter,
            None => found.push(parameter),
        }
    }
    Ok(found)
}

/// Reads a parameter and adds its argument. Returns `None` if it is not for callers to give.
///
/// # Errors
/// It is required and cannot be sent.
pub(crate) fn read(
    parameter: &Value,
    document: &ApiDocument,
    config_headers: &HeaderMap,
    converter: &mut SchemaConverter<'_>,
    arguments: &mut OperationArguments,
) -> Result<Option<ApiParameter>, String> {
    let name = parameter["name"].as_str().unwrap_or_default();
    let within = parameter["in"].as_str().unwrap_or_default();
    let is_required = parameter["required"] == Value::Bool(true) || within == "path";
    let place = match within {
        "path" => ParameterLocation::Path,
        "query" => ParameterLocation::Query,
        "cookie" => ParameterLocation::Cookie,
        "header" => match header(name, config_headers) {
            Ok(Some(header)) => ParameterLocation::Header(header),
            Err(problem) if is_required => {
                return Err(format!("its header `{}`: {problem}", shortened(name, 60)));
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if name.is_empty() {
        return Err(format!("a parameter in `{within}` has no name"));
    }
    let serialization = serialization(parameter, &place, document.version);
    let schema = schema(parameter, converter)?;
    let argument = arguments.add(name, within, schema, is_required);
    Ok(Some(ApiParameter { argument, name: name.to_owned(), place, serialization }))
}

/// Returns the header of a parameter; `None` if the request, or the config, sets it.
fn header(name: &str, config_headers: &HeaderMap) -> Result<Option<HeaderName>, &'static str> {
    let header = header_name(name)?;
    let is_ours = [ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST].contains(&header);
    Ok((!is_ours && !config_headers.contains_key(&header)).then_some(header))
}

fn serialization(parameter: &Value, place: &ParameterLocation, version: Version) -> Serialization {
    let allow_reserved = parameter["allowReserved"] == Value::Bool(true);
    let usual = match place {
        ParameterLocation::Path | ParameterLocation::Header(_) => Style::Simple,
        ParameterLocation::Query | ParameterLocation::Cookie => Style::Form,
    };
    if parameter.get("content").is_some() {
        return Serialization { style: Style::Json, explode: false, allow_reserved };
    }
    let (style, explode) = match version {
        Version::Swagger2 => match parameter["collectionFormat"].as_str() {
            Some("multi") => (Style::Form, true),
            Some("csv") | None => (usual, false),
            Some(format) => (Style::named(format).unwrap_or(usual), false),
        },
        Version::OpenApi30 | Version::OpenApi31 => {
            let style = parameter["style"].as_str().and_then(Style::named).unwrap_or(usual);
            let explode = parameter["explode"].as_bool().unwrap_or(style == Style::Form);
            (style, explode)
        }
    };
    Serialization { style, explode, allow_reserved }
}

/// Returns the schema of a parameter's argument, with the parameter's description.
fn schema(parameter: &Value, converter: &mut SchemaConverter<'_>) -> Result<Value, String> {
    let media = parameter["content"].as_object().and_then(|content| content.values().next());
    let schema = parameter.get("schema").or_else(|| media.and_then(|media| media.get("schema")));
    let mut converted = match schema {
        Some(schema) => converter.convert(schema)?,
        // In Swagger 2, the parameter is its own schema.
        None if parameter.get("type").is_some() => converter.convert(parameter)?,
        None => json!({"type": "string"}),
    };
    describe(&mut converted, parameter.get("description"));
    Ok(converted)
}

/// Sets the description, if there is one.
pub(crate) fn describe(schema: &mut Value, description: Option<&Value>) {
    let text = description.and_then(Value::as_str).map(|text| shortened(text, SHOWN));
    if let (Value::Object(schema), Some(text)) = (schema, text.filter(|text| !text.is_empty())) {
        schema.insert("description".to_owned(), text.into());
    }
}
