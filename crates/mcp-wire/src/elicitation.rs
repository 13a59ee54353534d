//! What a server wants to know of a person (`elicitation/create`), taken apart so that it can be asked and its answer
//! checked. What cannot be asked is refused with the reason: nothing of it is shown.

mod field;
mod kind;

use std::fmt::Display;

use serde_json::{Map, Value, json};
use url::Url;

pub use field::{Field, SchemaPredicate};
pub use kind::{FieldChoice, FieldKind, TextFormat};

/// How many bytes a question may have.
const MOST_BYTES: usize = 64 * 1024;
/// How many fields it may have.
const MOST_FIELDS: usize = 100;

/// A question for a person.
pub enum Elicitation {
    /// Values are asked for.
    Form(ElicitForm),
    /// A page is to be opened in a browser.
    Page(ElicitPage),
}

/// The answer to an elicitation.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitResult {
    /// It is answered, with values if they were asked for.
    Accept(Option<Map<String, Value>>),
    /// The person says no.
    Decline,
    /// The person does not say anything.
    Cancel,
}

impl ElicitResult {
    /// The result of `elicitation/create`.
    pub fn into_json(self) -> Value {
        match self {
            Self::Accept(Some(content)) => json!({"action": "accept", "content": content}),
            Self::Accept(None) => json!({"action": "accept"}),
            Self::Decline => json!({"action": "decline"}),
            Self::Cancel => json!({"action": "cancel"}),
        }
    }
}

/// A question whose answer is values.
#[non_exhaustive]
pub struct ElicitForm {
    /// The server's message.
    pub message: String,
    /// The requested fields, in order.
    pub fields: Vec<Field>,
}

/// A page that a server wants opened.
#[non_exhaustive]
pub struct ElicitPage {
    /// The server's message.
    pub message: String,
    /// The whole address.
    pub address: String,
    /// The host in it, as browsers connect to it: names of other scripts in their ASCII form.
    pub host: String,
}

impl Elicitation {
    /// Reads the parameters of `elicitation/create`. `compile` makes the check of a JSON Schema of an object.
    ///
    /// # Errors
    /// Says why a person cannot be asked this.
    pub fn read<E: Display>(
        params: &Value,
        compile: impl Fn(&Value) -> Result<SchemaPredicate, E>,
    ) -> Result<Self, String> {
        let bytes = params.to_string().len();
        if bytes > MOST_BYTES {
            return Err(format!("it has {bytes} bytes, and {MOST_BYTES} at most can be shown"));
        }
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        match params.get("mode").map(|mode| mode.as_str().unwrap_or_default()) {
            None | Some("form") => {
                let fields = fields(&params["requestedSchema"], &compile)?;
                Ok(Self::Form(ElicitForm { message, fields }))
            }
            Some("url") => {
                let (address, host) = page(params["url"].as_str().unwrap_or_default())?;
                Ok(Self::Page(ElicitPage { message, address, host }))
            }
            Some(other) => Err(format!("its mode '{other}' is not known")),
        }
    }
}

impl ElicitForm {
    /// Checks an answer that came from elsewhere.
    ///
    /// # Errors
    /// One problem for each invalid field: its name, and what it must be.
    pub fn check(&self, content: &Map<String, Value>) -> Result<(), Vec<(String, String)>> {
        let mut problems = Vec::new();
        for field in &self.fields {
            let problem = match content.get(&field.name) {
                Some(value) => field.check(value).err(),
                None if field.required => Some("must be given".to_owned()),
                None => None,
            };
            problems.extend(problem.map(|problem| (field.name.clone(), problem)));
        }
        let is_asked = |name: &String| self.fields.iter().any(|field| field.name == **name);
        let unasked = content.keys().filter(|name| !is_asked(name));
        problems.extend(unasked.map(|name| (name.clone(), "was not asked for".to_owned())));
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

fn fields<E: Display>(
    schema: &Value,
    compile: &impl Fn(&Value) -> Result<SchemaPredicate, E>,
) -> Result<Vec<Field>, String> {
    let Some(properties) = schema["properties"].as_object() else {
        return match schema.as_object().is_some_and(|schema| schema.contains_key("properties")) {
            true => Err("its fields are not an object".to_owned()),
            false => Ok(Vec::new()),
        };
    };
    if properties.len() > MOST_FIELDS {
        let count = properties.len();
        return Err(format!("it has {count} fields, and {MOST_FIELDS} at most can be asked"));
    }
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let field =
        |(name, schema): (&String, &Value)| Field::read(name, schema, is_required(name), compile);
    properties.iter().map(field).collect()
}

/// The address of a page and its host.
fn page(address: &str) -> Result<(String, String), String> {
    let url = Url::parse(address).map_err(|error| format!("its address is not a URL: {error}"))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => Ok((url.to_string(), host.to_owned())),
        (scheme, _) => Err(format!("its address is not a web page: it begins with '{scheme}:'")),
    }
}

#[cfg(test)]
mod tests;
