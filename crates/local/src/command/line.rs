//! The arguments of a program, made of the arguments of a call.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_toolcall::ToolError;

use super::without_nul;
use crate::{
    definition::DefinitionProblem,
    template::{Parameters, Template, TemplateArguments, TemplatePiece, each, given, text_of},
};

/// Programs that take the text after `-c` for a script.
const SHELLS: [&str; 7] = ["sh", "ash", "bash", "dash", "fish", "ksh", "zsh"];

/// What stands after the program's name.
pub(super) struct CommandLine {
    parts: Vec<CommandPart>,
    /// Arguments that may begin with `-` anywhere.
    dashes: BTreeSet<String>,
}

/// Elements that are left out together.
struct CommandPart(Vec<Template>);

impl CommandLine {
    pub(super) fn new(
        args: &[Value],
        dashes: &[String],
        parameters: &Parameters,
    ) -> Result<Self, DefinitionProblem> {
        let parts = args.iter().enumerate().map(|(index, arg)| {
            let key = format!("args[{index}]");
            match arg {
                Value::Array(items) => {
                    let inner =
                        |(inner, item)| element(format!("{key}[{inner}]"), item, parameters);
                    items.iter().enumerate().map(inner).collect::<Result<_, _>>().map(CommandPart)
                }
                other => element(key, other, parameters).map(|element| CommandPart(vec![element])),
            }
        });
        let parts = parts.collect::<Result<_, _>>()?;
        if let Some(unknown) = dashes.iter().find(|name| !parameters.has(name)) {
            let way_out = parameters.way_out(unknown, |name| format!("`{name}`"));
            return Err(DefinitionProblem::new(
                "dashes",
                format!("`{unknown}` is not a parameter; {way_out}"),
            ));
        }
        Ok(Self { parts, dashes: dashes.iter().cloned().collect() })
    }

    /// Refuses a shell's script in which a text of the caller's would stand: it would be read as a part of the script.
    pub(super) fn check_shell(
        &self,
        program: &str,
        parameters: &Parameters,
    ) -> Result<(), DefinitionProblem> {
        let is_shell = |name: &str| SHELLS.contains(&name);
        if !program.rsplit('/').next().is_some_and(is_shell) {
            return Ok(());
        }
        let elements: Vec<_> =
            self.parts.iter().flat_map(|CommandPart(templates)| templates).collect();
        let is_command_option = |template: &Template| match template.pieces() {
            [TemplatePiece::Text(text)] => {
                text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
            }
            _ => false,
        };
        let script = elements.windows(2).find(|pair| is_command_option(pair[0]));
        let texts = |pair: &[&Template]| {
            pair[1].arguments().find(|name| parameters.may_be_text(name)).map(str::to_owned)
        };
        match script.and_then(texts) {
            Some(name) => Err(DefinitionProblem::new(
                "args",
                format!(
                    "`{{{name}}}` must not stand in the script of a shell, which would run what it holds: give it \
                     after the script, as \"$1\": [\"-c\", \"…\", \"sh\", \"{{{name}}}\"]"
                ),
            )),
            None => Ok(()),
        }
    }

    /// The arguments in which nothing of a caller's stands. What a sandbox allows depends on these alone.
    pub(super) fn fixed(&self) -> Vec<String> {
        let elements = self.parts.iter().flat_map(|CommandPart(templates)| templates);
        let fixed = elements.filter(|template| template.arguments().next().is_none());
        fixed.filter_map(|template| template.fill(&TemplateArguments::new())).collect()
    }

    /// Fills in the arguments of a call of `program`.
    ///
    /// # Errors
    /// A value holds what no program can be given, or would be taken for an option.
    pub(super) fn fill(
        &self,
        program: &str,
        args: &TemplateArguments,
    ) -> Result<Vec<String>, ToolError> {
        let mut line = Vec::new();
        let mut options_ended = false;
        for CommandPart(templates) in &self.parts {
            let filled: Option<Vec<_>> = templates.iter().map(|it| elements(it, args)).collect();
            for (template, elements) in templates.iter().zip(filled.into_iter().flatten()) {
                without_nul(template, args)?;
                if !options_ended {
                    self.check_dashes(program, template, args)?;
                }
                line.extend(elements);
                options_ended |= template.is_text("--");
            }
        }
        Ok(line)
    }

    /// Refuses a value that begins with `-`, which the program could take for an option.
    fn check_dashes(
        &self,
        program: &str,
        template: &Template,
        args: &TemplateArguments,
    ) -> Result<(), ToolError> {
        let has_dash = |name: &&str| {
            let values = given(args, name).map(each).unwrap_or_default();
            values.iter().any(|value| text_of(value).starts_with('-'))
        };
        match template.arguments().filter(|name| !self.dashes.contains(*name)).find(has_dash) {
            Some(name) => Err(ToolError::invalid(format_args!(
                "'{name}' must not begin with '-': {program} could take it for an option (`dashes` in the \
                 tool's definition allows it)"
            ))),
            None => Ok(()),
        }
    }
}

fn element(
    key: String,
    value: &Value,
    parameters: &Parameters,
) -> Result<Template, DefinitionProblem> {
    let Value::String(text) = value else {
        return Err(DefinitionProblem::new(
            key,
            "expected a text, or a list of texts that belong together",
        ));
    };
    if text.contains('\0') {
        return Err(DefinitionProblem::new(key, "no program can be given a NUL character"));
    }
    Template::parse(text, parameters).map_err(|problem| DefinitionProblem::new(key, problem))
}

/// The elements that a template becomes: one, or each value of a list that stands alone. `None` if an argument was left
/// out, or the list is empty.
fn elements(template: &Template, args: &TemplateArguments) -> Option<Vec<String>> {
    match template.lone().and_then(|name| given(args, name)) {
        Some(value) => {
            let values = each(value);
            (!values.is_empty()).then(|| values.iter().map(|it| text_of(it).into_owned()).collect())
        }
        None => template.fill(args).map(|element| vec![element]),
    }
}
