//! The body of an operation: what callers give for it, and how it is written.

mod declared;
mod format;
mod members;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use switchboard_toolcall::ToolError;

use crate::{
    document::{ApiDocument, Version},
    multipart::{self, MultipartPart},
    parameter::{OperationArguments, describe},
    schema::SchemaConverter,
    style::{Serialization, Style, text},
};
use declared::{DeclaredBody, of_openapi, of_swagger};
use format::BodyFormat;
use members::ObjectMembers;

/// The body of an operation's requests.
#[derive(Debug)]
pub(crate) struct Body {
    media_type: String,
    format: BodyFormat,
    content: RequestContent,
}

/// What callers give.
#[derive(Debug)]
enum RequestContent {
    /// The members of an object, as arguments beside the others.
    Members { fields: Vec<BodyField>, others: bool },
    /// The whole body as one argument.
    Whole(BodyField),
}

/// One argument that goes into the body.
#[derive(Debug)]
struct BodyField {
    argument: String,
    name: String,
    serialization: Serialization,
    /// Whether the argument is base64 of what is sent.
    is_binary: bool,
    /// What a part of a multipart body says that it is.
    media_type: Option<String>,
}

impl Body {
    /// Reads the body of an operation, and adds its arguments.
    ///
    /// # Errors
    /// It cannot be sent.
    pub(crate) fn read(
        document: &ApiDocument,
        operation: &Value,
        parameters: &[&Value],
        converter: &mut SchemaConverter<'_>,
        arguments: &mut OperationArguments,
    ) -> Result<Option<Self>, String> {
        let declared = match document.version {
            Version::Swagger2 => of_swagger(document, operation, parameters),
            Version::OpenApi30 | Version::OpenApi31 => of_openapi(document, operation)?,
        };
        let Some(declared) = declared else { return Ok(None) };
        let format = BodyFormat::of(&declared.media_type)?;
        let is_structured =
            matches!(format, BodyFormat::Json | BodyFormat::Form | BodyFormat::Multipart);
        let members = match is_structured {
            true => ObjectMembers::of(document, &declared.schema)?,
            false => None,
        };
        let members = members.filter(|members| members.are_free(&arguments.taken));
        let content = match members {
            Some(members) => {
                let mut fields = Vec::new();
                for (name, schema) in &members.properties {
                    let is_required = members.required.contains(name);
                    fields.push(BodyField::add(
                        &declared,
                        format,
                        name,
                        schema,
                        is_required,
                        converter,
                        arguments,
                    )?);
                }
                RequestContent::Members { fields, others: members.allows_others }
            }
            None => RequestContent::Whole(whole(&declared, format, converter, arguments)?),
        };
        Ok(Some(Self { media_type: declared.media_type, format, content }))
    }

    /// Returns the content type and the body. Returns `None` if no argument goes into it.
    ///
    /// # Errors
    /// An argument is not what it has to be.
    pub(crate) fn fill(
        &self,
        args: &Map<String, Value>,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Option<(String, Vec<u8>)>, ToolError> {
        match &self.content {
            RequestContent::Whole(field) => match args.get(&field.argument) {
                Some(value) => self.write_whole(field, value).map(Some),
                None => Ok(None),
            },
            RequestContent::Members { fields, others } => {
                let given =
                    fields.iter().filter_map(|field| Some((field, args.get(&field.argument)?)));
                let mut given: Vec<_> =
                    given.map(|(field, value)| (field.name.as_str(), field, value)).collect();
                let other = BodyField::plain();
                if *others {
                    let unknown = args.iter().filter(|(name, _)| !is_known(name));
                    given.extend(unknown.map(|(name, value)| (name.as_str(), &other, value)));
                }
                match given.is_empty() {
                    true => Ok(None),
                    false => self.write(&given).map(Some),
                }
            }
        }
    }

    /// Returns whether the argument goes into the body.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        match &self.content {
            RequestContent::Whole(field) => field.argument == argument,
            RequestContent::Members { fields, .. } => {
                fields.iter().any(|field| field.argument == argument)
            }
        }
    }

    fn write_whole(
        &self,
        field: &BodyField,
        value: &Value,
    ) -> Result<(String, Vec<u8>), ToolError> {
        let media_type = self.media_type.clone();
        match (self.format, value) {
            (BodyFormat::Json, value) => Ok((media_type, value.to_string().into_bytes())),
            (BodyFormat::Text, value) => Ok((media_type, text(value).into_bytes())),
            (BodyFormat::Binary, value) => Ok((media_type, field.bytes(value)?)),
            (BodyFormat::Form | BodyFormat::Multipart, Value::Object(members)) => {
                let given: Vec<_> =
                    members.iter().map(|(name, value)| (name.as_str(), field, value)).collect();
                self.write(&given)
            }
            _ => Err(ToolError::invalid(format_args!("'{}' must be object", field.argument))),
        }
    }

    fn write(&self, given: &[(&str, &BodyField, &Value)]) -> Result<(String, Vec<u8>), ToolError> {
        match self.format {
            BodyFormat::Form => {
                let pairs = given
                    .iter()
                    .flat_map(|(name, field, value)| field.serialization.pairs(name, value));
                let form = pairs.collect::<Vec<_>>().join("&").replace("%20", "+");
                Ok((self.media_type.clone(), form.into_bytes()))
            }
            BodyFormat::Multipart => {
                let mut parts = Vec::new();
                for (name, field, value) in given {
                    let values = match value {
                        Value::Array(values) => values.as_slice(),
                        single => std::slice::from_ref(*single),
                    };
                    for value in values {
                        parts.push(field.part(name, value)?);
                    }
                }
                Ok(multipart::write(&parts))
            }
            _ => {
                let members =
                    given.iter().map(|(name, _, value)| ((*name).to_owned(), (*value).clone()));
                let object = Value::Object(members.collect());
                Ok((self.media_type.clone(), object.to_string().into_bytes()))
            }
        }
    }
}

impl BodyField {
    fn add(
        declared: &DeclaredBody<'_>,
        format: BodyFormat,
        name: &str,
        schema: &Value,
        is_required: bool,
        converter: &mut SchemaConverter<'_>,
        arguments: &mut OperationArguments,
    ) -> Result<Self, String> {
        let encoding = declared.encoding.and_then(|encoding| encoding.get(name));
        let is_binary = format == BodyFormat::Multipart && members::is_binary(schema);
        let mut converted = converter.convert(schema)?;
        if is_binary {
            in_base64(&mut converted);
        }
        let argument = arguments.add(name, "body", converted, is_required);
        let word = |key: &str| encoding.and_then(|encoding| encoding.get(key));
        let is_list = schema
            .get("collectionFormat")
            .and_then(Value::as_str)
            .is_none_or(|format| format == "multi");
        let style =
            word("style").and_then(Value::as_str).and_then(Style::named).unwrap_or(Style::Form);
        let explode = word("explode").and_then(Value::as_bool).unwrap_or(is_list);
        let media_type = word("contentType").and_then(Value::as_str);
        let media_type = media_type.and_then(|types| types.split(',').next()).map(str::trim);
        let is_plain = |media_type: &&str| {
            !media_type.contains(['*', '"'])
                && media_type.chars().all(|c| c.is_ascii_graphic() || c == ' ')
        };
        Ok(Self {
            argument,
            name: name.to_owned(),
            serialization: Serialization { style, explode, allow_reserved: false },
            is_binary,
            media_type: media_type.filter(is_plain).map(str::to_owned),
        })
    }

    /// A field that the description does not name.
    fn plain() -> Self {
        let serialization =
            Serialization { style: Style::Form, explode: true, allow_reserved: false };
        let (argument, name) = (String::new(), String::new());
        Self { argument, name, serialization, is_binary: false, media_type: None }
    }

    fn bytes(&self, value: &Value) -> Result<Vec<u8>, ToolError> {
        let wrong = || ToolError::invalid(format_args!("'{}' must be base64", self.argument));
        let data: String = value.as_str().ok_or_else(wrong)?.split_ascii_whitespace().collect();
        STANDARD.decode(data).map_err(|error| wrong().caused_by(error))
    }

    fn part(&self, name: &str, value: &Value) -> Result<MultipartPart, ToolError> {
        let name = name.to_owned();
        Ok(match value {
            value if self.is_binary => {
                let usual = || "application/octet-stream".to_owned();
                let media_type = Some(self.media_type.clone().unwrap_or_else(usual));
                MultipartPart { name, media_type, bytes: self.bytes(value)? }
            }
            Value::Object(_) | Value::Array(_) => MultipartPart {
                name,
                media_type: Some("application/json".to_owned()),
                bytes: value.to_string().into_bytes(),
            },
            single => MultipartPart { name, media_type: None, bytes: text(single).into_bytes() },
        })
    }
}

fn whole(
    declared: &DeclaredBody<'_>,
    format: BodyFormat,
    converter: &mut SchemaConverter<'_>,
    arguments: &mut OperationArguments,
) -> Result<BodyField, String> {
    let mut schema = match format {
        BodyFormat::Text => json!({"type": "string"}),
        BodyFormat::Binary => json!({"type": "string", "contentEncoding": "base64"}),
        _ => converter.convert(&declared.schema)?,
    };
    if schema.get("description").is_none() && schema.get("$ref").is_none() {
        let usual = json!(format!("The body of the request, {}", declared.media_type));
        describe(&mut schema, Some(declared.description.unwrap_or(&usual)));
    }
    let argument = arguments.add("body", "request", schema, declared.is_required);
    Ok(BodyField { argument, ..BodyField::plain() })
}

/// Says that an argument is base64: JSON has no bytes.
fn in_base64(schema: &mut Value) {
    let schema = match schema.get("items") {
        Some(_) => &mut schema["items"],
        None => schema,
    };
    if let Value::Object(schema) = schema {
        schema.insert("type".to_owned(), "string".into());
        schema.shift_remove("format");
        schema.shift_remove("contentMediaType");
        schema.insert("contentEncoding".to_owned(), "base64".into());
    }
}
