//! Named values: those of a query and of a form.

use serde_json::{Map, Value};

use crate::{
    definition::DefinitionProblem,
    template::{Parameters, Template, TemplateArguments, each, given, text_of},
};

/// Names with the templates of their values, in the order of the config.
pub(super) struct HttpFields(Vec<(String, Template)>);

impl HttpFields {
    /// Reads a table of texts, numbers, booleans, and lists of these.
    pub(super) fn new(
        key: &str,
        table: &Map<String, Value>,
        parameters: &Parameters,
    ) -> Result<Self, DefinitionProblem> {
        let mut fields = Vec::with_capacity(table.len());
        for (name, value) in table {
            for value in each(value) {
                let wrong = |problem| DefinitionProblem::new(format!("{key}.{name}"), problem);
                if matches!(value, Value::Null | Value::Array(_) | Value::Object(_)) {
                    let expected = "expected a text, a number, true or false, or a list of these";
                    return Err(wrong(expected.to_owned()));
                }
                let template = Template::parse(&text_of(value), parameters).map_err(wrong)?;
                fields.push((name.clone(), template));
            }
        }
        Ok(Self(fields))
    }

    /// Fills in the arguments: a list that stands alone gives its name once for each value, and what belongs to an
    /// argument that was left out is left out.
    pub(super) fn fill(&self, args: &TemplateArguments) -> Vec<(String, String)> {
        let mut pairs = Vec::with_capacity(self.0.len());
        for (name, template) in &self.0 {
            match template.lone().and_then(|lone| given(args, lone)) {
                Some(value) => {
                    let values = each(value).iter().map(|value| text_of(value).into_owned());
                    pairs.extend(values.map(|value| (name.clone(), value)));
                }
                None => pairs.extend(template.fill(args).map(|value| (name.clone(), value))),
            }
        }
        pairs
    }
}
