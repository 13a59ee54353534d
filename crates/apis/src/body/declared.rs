//! What descriptions say of bodies: OpenAPI 3 in `requestBody`, Swagger 2 in parameters.

use serde_json::{Map, Value, json};

use super::format::BodyFormat;
use crate::document::ApiDocument;

/// What a description says of a body, in all versions.
pub(super) struct DeclaredBody<'a> {
    pub(super) media_type: String,
    pub(super) schema: Value,
    pub(super) encoding: Option<&'a Value>,
    pub(super) description: Option<&'a Value>,
    pub(super) is_required: bool,
}

/// Reads `requestBody` of OpenAPI 3.
///
/// # Errors
/// A `$ref` does not resolve.
pub(super) fn of_openapi<'a>(
    document: &'a ApiDocument,
    operation: &'a Value,
) -> Result<Option<DeclaredBody<'a>>, String> {
    let Some(body) = operation.get("requestBody") else { return Ok(None) };
    let body = document.resolve(body)?.value;
    let content = body.get("content").and_then(Value::as_object);
    let best =
        content.into_iter().flatten().min_by_key(|(media_type, _)| BodyFormat::rank(media_type));
    let Some((media_type, media)) = best else { return Ok(None) };
    // `*/*` says nothing; what has a schema is JSON mostly.
    let media_type = match media_type.contains('*') || media_type.contains(char::is_control) {
        true => "application/json",
        false => media_type,
    };
    Ok(Some(DeclaredBody {
        media_type: media_type.to_owned(),
        schema: media.get("schema").cloned().unwrap_or_default(),
        encoding: media.get("encoding"),
        description: body.get("description"),
        is_required: body["required"] == Value::Bool(true),
    }))
}

/// Reads the parameters of Swagger 2 that are in `body` or `formData`.
pub(super) fn of_swagger<'a>(
    document: &'a ApiDocument,
    operation: &'a Value,
    parameters: &[&'a Value],
) -> Option<DeclaredBody<'a>> {
    let consumes = operation.get("consumes").or_else(|| document.root.get("consumes"));
    let consumes: Vec<_> = consumes
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if let Some(body) = parameters.iter().find(|parameter| parameter["in"] == "body") {
        let best = consumes.iter().min_by_key(|media_type| BodyFormat::rank(media_type));
        return Some(DeclaredBody {
            media_type: best.map_or("application/json", |media_type| media_type).to_owned(),
            schema: body.get("schema").cloned().unwrap_or_default(),
            encoding: None,
            description: body.get("description"),
            is_required: body["required"] == Value::Bool(true),
        });
    }
    let fields: Vec<_> =
        parameters.iter().filter(|parameter| parameter["in"] == "formData").collect();
    if fields.is_empty() {
        return None;
    }
    let has_files = fields.iter().any(|field| field["type"] == "file");
    let is_multipart = has_files || consumes.contains(&"multipart/form-data");
    let name = |field: &Value| field["name"].as_str().unwrap_or_default().to_owned();
    let required = fields.iter().filter(|field| field["required"] == Value::Bool(true));
    let required: Vec<_> = required.map(|field| name(field)).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|field| (name(field), (**field).clone())).collect();
    Some(DeclaredBody {
        media_type: if is_multipart {
            "multipart/form-data"
        } else {
            "application/x-www-form-urlencoded"
        }
        .to_owned(),
        schema: json!({"type": "object", "properties": properties, "required": required}),
        encoding: None,
        description: None,
        is_required: !required.is_empty(),
    })
}
