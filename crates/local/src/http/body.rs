//! The body of a request.

use super::{fields::HttpFields, json::JsonTemplate, url::encoded};
use crate::{
    definition::{DefinitionProblem, Implementation},
    template::{Parameters, Template, TemplateArguments},
};

/// A body in one of the ways in which the config can say it.
pub(super) enum BodyTemplate {
    Json(JsonTemplate),
    Form(HttpFields),
    Text(Template),
}

impl BodyTemplate {
    pub(super) fn new(
        implementation: &Implementation,
        parameters: &Parameters,
    ) -> Result<Option<Self>, DefinitionProblem> {
        let Implementation { json, form, text, .. } = implementation;
        match (json, form.is_empty(), text) {
            (None, true, None) => Ok(None),
            (Some(json), true, None) => {
                JsonTemplate::new("json", json, parameters).map(Self::Json).map(Some)
            }
            (None, false, None) => {
                HttpFields::new("form", form, parameters).map(Self::Form).map(Some)
            }
            (None, true, Some(text)) => match Template::parse(text, parameters) {
                Ok(text) => Ok(Some(Self::Text(text))),
                Err(problem) => Err(DefinitionProblem::new("text", problem)),
            },
            _ => {
                let key = if json.is_some() { "json" } else { "form" };
                Err(DefinitionProblem::new(key, "a request has one body: `json`, `form` or `text`"))
            }
        }
    }

    /// Fills in the arguments, and returns the content type and the body. Returns `None` if an argument that the body
    /// needs was left out.
    pub(super) fn fill(&self, args: &TemplateArguments) -> Option<(&'static str, Vec<u8>)> {
        match self {
            Self::Json(json) => {
                let json = json.fill(args)?;
                Some(("application/json", json.to_string().into_bytes()))
            }
            Self::Form(fields) => {
                let pairs = fields.fill(args);
                let pairs = pairs.iter().map(|(name, value)| {
                    format!("{}={}", encoded(name), encoded(value)).replace("%20", "+")
                });
                let form = pairs.collect::<Vec<_>>().join("&");
                Some(("application/x-www-form-urlencoded", form.into_bytes()))
            }
            Self::Text(text) => Some(("text/plain; charset=utf-8", text.fill(args)?.into_bytes())),
        }
    }
}
