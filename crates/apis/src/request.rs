//! The request of an operation, made of the arguments of a call.

use reqwest::{
    Method, Url,
    header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue},
};
use serde_json::{Map, Value};
use switchboard_local::http::{HttpRequest, check_segment, encoded, header_value};
use switchboard_toolcall::{ErrorKind, ToolError};

use crate::{
    body::Body,
    parameter::{ApiParameter, ParameterLocation},
    style::text,
};

/// What an operation's requests are made of.
#[derive(Debug)]
pub(crate) struct RequestPlan {
    pub(crate) method: Method,
    pub(crate) path: PathTemplate,
    pub(crate) parameters: Vec<ApiParameter>,
    pub(crate) body: Option<Body>,
    pub(crate) accept: HeaderValue,
}

/// A path, in which `{name}` stands for a parameter, and the query that some descriptions put behind it.
#[derive(Debug)]
pub(crate) struct PathTemplate {
    segments: Vec<Vec<PathPiece>>,
    query: Option<String>,
}

#[derive(Debug)]
enum PathPiece {
    Literal(String),
    Parameter(String),
}

impl PathTemplate {
    /// Reads a path of the description.
    ///
    /// # Errors
    /// It would change more than the path of the URL.
    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        let wrong = |problem: &str| Err(format!("its path {problem}"));
        if !path.starts_with('/') || path.starts_with("//") {
            return wrong("does not begin with one `/`");
        }
        if path.contains(|c: char| c == '\\' || c == '#' || c.is_control()) {
            return wrong("has `\\`, `#` or control characters in it");
        }
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path, None),
        };
        let segments: Vec<_> = path[1..].split('/').map(pieces).collect();
        let is_dotted = |pieces: &Vec<PathPiece>| match &pieces[..] {
            [PathPiece::Literal(text)] if !text.is_empty() => check_segment("", text).is_err(),
            _ => false,
        };
        match segments.iter().any(is_dotted) {
            true => wrong("has the segment `.` or `..` in it"),
            false => Ok(Self { segments, query }),
        }
    }

    /// Returns the names that stand in braces.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flatten().filter_map(|piece| match piece {
            PathPiece::Literal(_) => None,
            PathPiece::Parameter(name) => Some(name.as_str()),
        })
    }
}

fn pieces(segment: &str) -> Vec<PathPiece> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while let Some((before, name, after)) = rest.split_once('{').and_then(|(before, rest)| {
        let (name, after) = rest.split_once('}')?;
        Some((before, name, after))
    }) {
        if !before.is_empty() {
            pieces.push(PathPiece::Literal(before.to_owned()));
        }
        pieces.push(PathPiece::Parameter(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(PathPiece::Literal(rest.to_owned()));
    }
    pieces
}

impl RequestPlan {
    /// Makes the request; what belongs to an argument that was left out is left out.
    ///
    /// # Errors
    /// A value is invalid where it stands.
    pub(crate) fn fill(
        &self,
        base: &Url,
        config_headers: &HeaderMap,
        args: &Map<String, Value>,
    ) -> Result<HttpRequest, ToolError> {
        let url = self.url(base, args)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, self.accept.clone());
        self.add_headers(args, &mut headers)?;
        let body = match &self.body {
            Some(body) => body.fill(args, |name| self.takes(name))?,
            None => None,
        };
        let body = body.map(|(media_type, bytes)| (header_value("body", &media_type), bytes));
        let body = match body {
            Some((media_type, bytes)) => {
                headers.insert(CONTENT_TYPE, media_type?);
                Some(bytes)
            }
            None => None,
        };
        // The config has the last word.
        headers.extend(config_headers.clone());
        Ok(HttpRequest { method: self.method.clone(), url, headers, body })
    }

    /// Returns whether an argument has a place in the request.
    fn takes(&self, argument: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.argument == argument)
            || self.body.as_ref().is_some_and(|body| body.takes(argument))
    }

    fn url(&self, base: &Url, args: &Map<String, Value>) -> Result<Url, ToolError> {
        let mut text = base.as_str().trim_end_matches('/').to_owned();
        for segment in &self.path.segments {
            text.push('/');
            text.push_str(&self.segment(segment, args)?);
        }
        let of_query = |parameter: &&ApiParameter| parameter.place == ParameterLocation::Query;
        let query = self.parameters.iter().filter(of_query).flat_map(|parameter| {
            let value = given(args, &parameter.argument);
            value.map_or(Vec::new(), |value| parameter.serialization.pairs(&parameter.name, value))
        });
        let query: Vec<_> = self.path.query.clone().into_iter().chain(query).collect();
        if !query.is_empty() {
            text = format!("{text}?{}", query.join("&"));
        }
        let url = Url::parse(&text).ok().filter(|url| url.origin() == base.origin());
        url.ok_or_else(|| {
            // Nothing in a value can bring this about; if the description does, nothing is sent.
            ToolError::new(ErrorKind::Internal, "the request's URL cannot be made")
        })
    }

    fn segment(
        &self,
        pieces: &[PathPiece],
        args: &Map<String, Value>,
    ) -> Result<String, ToolError> {
        let mut filled = String::new();
        let mut last = None;
        for piece in pieces {
            match piece {
                PathPiece::Literal(text) => filled.push_str(text),
                PathPiece::Parameter(name) => {
                    let is_meant = |parameter: &&ApiParameter| {
                        parameter.place == ParameterLocation::Path && parameter.name == *name
                    };
                    let parameter = self.parameters.iter().find(is_meant);
                    let argument = parameter.map_or(name.as_str(), |parameter| &parameter.argument);
                    let missing = || ToolError::invalid(format_args!("missing '{argument}'"));
                    let value = given(args, argument).ok_or_else(missing)?;
                    let text = match parameter {
                        Some(parameter) => parameter.serialization.path(name, value),
                        None => encoded(&text(value)).into_owned(),
                    };
                    check_segment(argument, &text)?;
                    filled.push_str(&text);
                    last = Some(argument);
                }
            }
        }
        if let Some(argument) = last {
            check_segment(argument, &filled)?;
        }
        Ok(filled)
    }

    fn add_headers(
        &self,
        args: &Map<String, Value>,
        headers: &mut HeaderMap,
    ) -> Result<(), ToolError> {
        let mut cookies = Vec::new();
        for parameter in &self.parameters {
            let Some(value) = given(args, &parameter.argument) else { continue };
            match &parameter.place {
                ParameterLocation::Header(name) => {
                    let text = parameter.serialization.header(value);
                    headers.insert(name.clone(), header_value(&parameter.argument, &text)?);
                }
                ParameterLocation::Cookie => {
                    cookies.extend(parameter.serialization.pairs(&parameter.name, value))
                }
                ParameterLocation::Path | ParameterLocation::Query => {}
            }
        }
        if !cookies.is_empty() {
            headers.insert(COOKIE, header_value("cookie", &cookies.join("; "))?);
        }
        Ok(())
    }
}

/// Returns an argument that is given and not null.
fn given<'a>(args: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    args.get(name).filter(|value| !value.is_null())
}
