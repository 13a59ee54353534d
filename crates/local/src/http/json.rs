//! JSON templates, in which `{name}` is replaced by an argument.

use serde_json::{Map, Value};

use crate::{
    definition::DefinitionProblem,
    template::{Parameters, Template, TemplateArguments},
};

/// A JSON value with placeholders in its texts; names of members have none.
pub(super) enum JsonTemplate {
    Text(Template),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
    /// A number, true, false or null.
    Other(Value),
}

impl JsonTemplate {
    pub(super) fn new(
        key: &str,
        value: &Value,
        parameters: &Parameters,
    ) -> Result<Self, DefinitionProblem> {
        Ok(match value {
            Value::String(text) => Self::Text(
                Template::parse(text, parameters)
                    .map_err(|problem| DefinitionProblem::new(key, problem))?,
            ),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items =
                    items.map(|(n, item)| Self::new(&format!("{key}[{n}]"), item, parameters));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    Ok((name.clone(), Self::new(&format!("{key}.{name}"), value, parameters)?))
                });
                Self::Table(members.collect::<Result<_, _>>()?)
            }
            other => Self::Other(other.clone()),
        })
    }

    /// Fills in the arguments. A lone `"{name}"` becomes the argument as it is, null included; members and items with
    /// an argument that was left out are left out. Returns `None` if that is the whole.
    pub(super) fn fill(&self, args: &TemplateArguments) -> Option<Value> {
        Some(match self {
            Self::Text(template) => match template.lone() {
                Some(name) => args.get(name)?.clone(),
                None => Value::String(template.fill(args)?),
            },
            Self::List(items) => items.iter().filter_map(|item| item.fill(args)).collect(),
            Self::Table(members) => {
                let filled = members.iter();
                let filled =
                    filled.filter_map(|(name, value)| Some((name.clone(), value.fill(args)?)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            Self::Other(value) => value.clone(),
        })
    }
}
