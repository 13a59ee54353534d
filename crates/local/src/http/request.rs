//! A request, made of the arguments of a call.

use reqwest::{
    Method, Url,
    header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue},
};
use switchboard_toolcall::{CallContext, ToolError};

use super::{body::BodyTemplate, fields::HttpFields, url::UrlTemplate};
use crate::{
    definition::{DefinitionProblem, Implementation},
    template::{Parameters, Template, TemplateArguments, given, text_of},
};

/// Headers that say how a request is sent, which is not for the config to say.
const OURS: [&str; 6] =
    ["connection", "content-length", "te", "trailer", "transfer-encoding", "upgrade"];

/// Names a request that has no second effect if it is repeated, for services that heed it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that can be sent.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The whole URL.
    pub url: Url,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// Adds the key that is the same if the call is repeated after a crash (SPEC RN-2), unless the request has its own.
    #[must_use]
    pub fn with_key_of(mut self, cx: &CallContext) -> Self {
        let key = cx.call_key.as_deref().and_then(|key| HeaderValue::from_str(key).ok());
        if let Some(key) = key {
            self.headers.entry(IDEMPOTENCY_KEY).or_insert(key);
        }
        self
    }
}

/// A request as the definition says it.
pub(crate) struct RequestTemplate {
    method: Method,
    url: UrlTemplate,
    query: HttpFields,
    headers: Vec<(HeaderName, Template)>,
    body: Option<BodyTemplate>,
}

impl RequestTemplate {
    /// Reads the definition of an `http` tool.
    ///
    /// # Errors
    /// Says which key cannot be used, and why.
    pub(crate) fn new(
        implementation: &Implementation,
        url: &str,
        parameters: &Parameters,
    ) -> Result<Self, DefinitionProblem> {
        let body = BodyTemplate::new(implementation, parameters)?;
        let method = match &implementation.method {
            Some(method) => read_method(method)?,
            None if body.is_some() => Method::POST,
            None => Method::GET,
        };
        let headers = implementation.headers.iter();
        let headers = headers.map(|(name, text)| header(name, text, parameters));
        Ok(Self {
            method,
            url: UrlTemplate::new(url, parameters)?,
            query: HttpFields::new("query", &implementation.query, parameters)?,
            headers: headers.collect::<Result<_, _>>()?,
            body,
        })
    }

    /// Scheme, host and port of the request, which no argument changes.
    pub(crate) fn origin(&self) -> &Url {
        self.url.origin()
    }

    /// Fills in the arguments of a call; what belongs to one that was left out is left out.
    ///
    /// # Errors
    /// A value is invalid in its position.
    pub(crate) fn fill(&self, args: &TemplateArguments) -> Result<HttpRequest, ToolError> {
        let url = self.url.fill(args, self.query.fill(args))?;
        let mut headers = HeaderMap::new();
        for (name, template) in &self.headers {
            if let Some(value) = template.fill(args) {
                headers.insert(name.clone(), filled_header(template, &value, args)?);
            }
        }
        let body = self.body.as_ref().and_then(|body| body.fill(args));
        let body = body.map(|(media_type, bytes)| {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(media_type));
            bytes
        });
        Ok(HttpRequest { method: self.method.clone(), url, headers, body })
    }
}

fn read_method(text: &str) -> Result<Method, DefinitionProblem> {
    let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes());
    match method.ok().filter(|method| *method != Method::CONNECT) {
        Some(method) => Ok(method),
        None => Err(DefinitionProblem::new("method", format!("`{text}` is not an HTTP method"))),
    }
}

fn header(
    name: &str,
    text: &str,
    parameters: &Parameters,
) -> Result<(HeaderName, Template), DefinitionProblem> {
    let wrong = |problem: String| DefinitionProblem::new(format!("headers.{name}"), problem);
    let header = header_name(name).map_err(|problem| wrong(problem.to_owned()))?;
    if text.contains(char::is_control) {
        return Err(wrong("a header has no line breaks or control characters".to_owned()));
    }
    let template = Template::parse(text, parameters).map_err(wrong)?;
    if header == HOST && template.arguments().next().is_some() {
        return Err(wrong("no `{name}` may stand here: callers do not choose the host".to_owned()));
    }
    Ok((header, template))
}

/// Returns the name of a header that a definition may set.
///
/// # Errors
/// It is no name of a header, or one that says how the request is sent.
pub fn header_name(name: &str) -> Result<HeaderName, &'static str> {
    let header = HeaderName::from_bytes(name.as_bytes());
    let header = header.map_err(|_| "this is not a valid header name")?;
    match OURS.contains(&header.as_str()) {
        true => Err("this header is set as the request needs it"),
        false => Ok(header),
    }
}

fn filled_header(
    template: &Template,
    value: &str,
    args: &TemplateArguments,
) -> Result<HeaderValue, ToolError> {
    let is_wrong = |name: &&str| {
        given(args, name).is_some_and(|value| text_of(value).contains(char::is_control))
    };
    header_value(template.arguments().find(is_wrong).unwrap_or_default(), value)
}

/// Returns the value of a header that is made of the argument `name`.
///
/// # Errors
/// It has line breaks or other control characters.
pub fn header_value(name: &str, value: &str) -> Result<HeaderValue, ToolError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|error| {
        let what = match value.contains(['\r', '\n']) {
            true => "a line break",
            false => "a control character",
        };
        ToolError::invalid(format_args!(
            "'{name}' must not contain {what}: it stands in a header of the request"
        ))
        .caused_by(error)
    })
}
