//! The URL of a request: values in path and query are percent-encoded, and change nothing around them.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use reqwest::Url;
use switchboard_toolcall::{ErrorKind, ToolError};

use crate::{
    definition::DefinitionProblem,
    template::{Parameters, Template, TemplateArguments, given},
};

/// The characters that are encoded in a value: everything with a meaning in a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How often a value may be encoded and still be seen through: some servers decode more than once.
const DECODED: usize = 4;

/// A URL template, in which `{name}` is replaced by an argument.
pub(super) struct UrlTemplate {
    /// Scheme, host and port, and user info if the config has it.
    origin: Url,
    /// The segments of the path.
    segments: Vec<Template>,
    /// The parts of the query.
    query: Vec<Template>,
}

impl UrlTemplate {
    pub(super) fn new(text: &str, parameters: &Parameters) -> Result<Self, DefinitionProblem> {
        let wrong = |problem: &str| DefinitionProblem::new("url", problem);
        let read = |text: &str| {
            Template::parse(text, parameters)
                .map_err(|problem| DefinitionProblem::new("url", problem))
        };
        if text.contains(|c: char| c.is_control() || c == '\\' || c == '#') {
            return Err(wrong("it must not contain `#`, `\\` or control characters"));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("it must be a whole URL, such as `https://api.example/{city}`"))?;
        let host_length = rest.find(['/', '?']).unwrap_or(rest.len());
        let (origin, rest) = text.split_at(scheme.len() + "://".len() + host_length);
        if Template::parse(origin, parameters).map_or(true, |it| it.arguments().next().is_some()) {
            let problem = "no `{name}` may stand in scheme, host or port: callers do not choose where requests go";
            return Err(wrong(problem));
        }
        let origin = Url::parse(origin).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(origin.scheme(), "http" | "https") || !origin.has_host() {
            return Err(wrong("it must begin with `http://` or `https://`"));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let query = query.split('&').filter(|pair| !pair.is_empty());
        Ok(Self {
            origin,
            segments: path.split('/').map(read).collect::<Result<_, _>>()?,
            query: query.map(read).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn origin(&self) -> &Url {
        &self.origin
    }

    /// Fills in the arguments, and adds `more` to the query.
    ///
    /// # Errors
    /// A value is missing in the path, or would change it.
    pub(super) fn fill(
        &self,
        args: &TemplateArguments,
        more: Vec<(String, String)>,
    ) -> Result<Url, ToolError> {
        let segments: Result<Vec<_>, _> =
            self.segments.iter().map(|template| segment(template, args)).collect();
        let own = self.query.iter().filter_map(|pair| pair.fill_with(args, encoded));
        let more = more.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let query: Vec<_> = own.chain(more).collect();
        let mut url = self.origin.to_string();
        url.push_str(&segments?.join("/"));
        if !query.is_empty() {
            url = format!("{url}?{}", query.join("&"));
        }
        Url::parse(&url).ok().filter(|url| url.origin() == self.origin.origin()).ok_or_else(|| {
            // Nothing in a value can bring this about; if the config does, nothing is sent.
            ToolError::new(ErrorKind::Internal, "the request's URL cannot be made")
        })
    }
}

/// Encodes a value for path or query of a URL: everything with a meaning there.
pub fn encoded(value: &str) -> Cow<'_, str> {
    utf8_percent_encode(value, ENCODED).into()
}

fn segment(template: &Template, args: &TemplateArguments) -> Result<String, ToolError> {
    if let Some(missing) = template.arguments().find(|name| given(args, name).is_none()) {
        return Err(ToolError::invalid(format_args!("missing '{missing}'")));
    }
    let filled = template.fill_with(args, encoded).unwrap_or_default();
    let Some(name) = template.arguments().next() else { return Ok(filled) };
    check_segment(name, &filled)?;
    Ok(filled)
}

/// Checks a segment of a path that the argument `name` stands in, encoded or not.
///
/// # Errors
/// It is empty, or is or holds a dot segment: it would change the path.
pub fn check_segment(name: &str, filled: &str) -> Result<(), ToolError> {
    if filled.is_empty() {
        return Err(ToolError::invalid(format_args!(
            "'{name}' must not be empty: it stands in the path of the URL"
        )));
    }
    if is_dotted(filled) {
        return Err(ToolError::invalid(format_args!(
            "'{name}' must not contain the path segment '.' or '..': it stands in the path of the URL"
        )));
    }
    Ok(())
}

/// Whether the text is, or holds, a dot segment, encoded or not.
fn is_dotted(text: &str) -> bool {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=DECODED {
        if text.split(['/', '\\']).any(|part| part == "." || part == "..") {
            return true;
        }
        text = percent_decode_str(&text).decode_utf8_lossy().into_owned().into();
    }
    false
}
