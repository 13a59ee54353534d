//! Tools that run a program of this machine (SPEC TK-1).

mod line;
mod outcome;

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;
use switchboard_process::{CapturedOutput, Program, StartError};
use switchboard_sandbox::{Sandbox, SandboxConfig, SandboxedProgram};
use switchboard_toolcall::{
    BoxFuture, CallContext, ErrorKind, Tool, ToolError, ToolOutput, ToolSpec,
};

use crate::{
    Handlers,
    definition::{CommandOutput, DefinitionProblem, Implementation},
    template::{Parameters, Template, TemplateArguments, given, text_of},
};
use line::CommandLine;

#[cfg(test)]
mod tests;

/// How much of what a program writes to stdout is kept, in bytes: half of it from the beginning, half from the end.
const KEPT: usize = 16 * 1024 * 1024;

/// The variable with the key that is the same if the call is repeated after a crash (SPEC RN-2).
const KEY_VARIABLE: &str = "SWITCHBOARD_IDEMPOTENCY_KEY";

/// How much of the end of stderr is kept, in bytes.
const KEPT_OF_STDERR: usize = 16 * 1024;

/// A program with its arguments, from the definition.
pub(crate) struct CommandTemplate {
    program: String,
    line: CommandLine,
    stdin: Option<Template>,
    cwd: Option<Template>,
    env: BTreeMap<String, Template>,
    inherit_env: bool,
    output: CommandOutput,
    sandbox: SandboxConfig,
}

impl CommandTemplate {
    /// Reads the definition of a `command` tool.
    ///
    /// # Errors
    /// Says which key cannot be used, and why.
    pub(crate) fn new(
        implementation: &Implementation,
        program: &str,
        parameters: &Parameters,
    ) -> Result<Self, DefinitionProblem> {
        let template = |key: &str, text: &str| {
            Template::parse(text, parameters)
                .map_err(|problem| DefinitionProblem::new(key, problem))
        };
        if program.is_empty() {
            return Err(DefinitionProblem::new("program", "it is empty"));
        }
        if template("program", program).map_or(true, |program| program.arguments().count() > 0) {
            let problem = "no `{name}` may stand here: callers do not choose what is started";
            return Err(DefinitionProblem::new("program", problem));
        }
        let optional = |key: &str, text: &Option<String>| {
            text.as_deref().map(|text| template(key, text)).transpose()
        };
        let env = implementation.env.iter();
        let env = env.map(|(name, text)| {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(DefinitionProblem::new(
                    "env",
                    format!("`{name}` is not a valid variable name"),
                ));
            }
            Ok((name.clone(), template(&format!("env.{name}"), text)?))
        });
        let line = CommandLine::new(&implementation.args, &implementation.dashes, parameters)?;
        line.check_shell(program, parameters)?;
        Ok(Self {
            program: program.to_owned(),
            line,
            stdin: optional("stdin", &implementation.stdin)?,
            cwd: optional("cwd", &implementation.cwd)?,
            env: env.collect::<Result<_, _>>()?,
            inherit_env: implementation.inherit_env.unwrap_or(false),
            output: implementation.output.unwrap_or_default(),
            sandbox: SandboxConfig::default(),
        })
    }

    /// The same program in a sandbox.
    ///
    /// # Errors
    /// What the sandbox allows would depend on the arguments of a call: a relative path, in a folder that callers choose.
    pub(crate) fn confined(self, sandbox: SandboxConfig) -> Result<Self, DefinitionProblem> {
        let is_free = self.cwd.as_ref().is_some_and(|cwd| cwd.arguments().next().is_some());
        if sandbox.mode.is_off() || !is_free {
            return Ok(Self { sandbox, ..self });
        }
        let is_relative = |path: &str| !path.starts_with(['/', '~']);
        if self.program.contains('/') && is_relative(&self.program) {
            let problem = "in a sandbox its path has to be absolute, since callers choose `cwd`";
            return Err(DefinitionProblem::new("program", problem));
        }
        let allow = &sandbox.allow;
        let run = allow.run.iter().filter(|named| named.contains('/'));
        let mut paths = allow.read.iter().chain(&allow.write).chain(run);
        match paths.find(|path| is_relative(path)) {
            Some(path) => Err(DefinitionProblem::new(
                "sandbox_allow",
                format!("`{path}` has to be absolute, since callers choose `cwd`"),
            )),
            None => Ok(Self { sandbox, ..self }),
        }
    }

    /// The arguments that its sandbox may depend on: what a caller chooses must not widen it.
    fn trusted_args(&self) -> Vec<String> {
        let mut args = self.line.fixed();
        if self.cwd.as_ref().is_some_and(|cwd| cwd.arguments().next().is_some()) {
            args.retain(|arg| arg.starts_with(['/', '-']));
        }
        args
    }

    /// Returns whether the program is there; one in a folder that a call names is left to the call.
    pub(crate) fn is_there(&self) -> bool {
        let is_fixed = |template: &Template| template.arguments().next().is_none();
        let is_open = self.program.contains('/') && !self.cwd.as_ref().is_none_or(is_fixed);
        is_open
            || self.prepare(&TemplateArguments::new(), &Handlers::new()).is_ok_and(|it| it.exists())
    }

    /// The program for these arguments.
    fn prepare(&self, args: &TemplateArguments, handlers: &Handlers) -> Result<Program, ToolError> {
        let mut env = BTreeMap::new();
        for (name, template) in &self.env {
            if let Some(value) = template.fill(args) {
                without_nul(template, args)?;
                env.insert(name.clone(), value);
            }
        }
        let cwd = self.cwd.as_ref().and_then(|cwd| Some((cwd, cwd.fill(args)?)));
        if let Some((template, _)) = &cwd {
            without_nul(template, args)?;
        }
        Ok(Program {
            command: self.program.clone(),
            args: self.line.fill(&self.program, args)?,
            env,
            inherit_env: self.inherit_env,
            cwd: cwd.map(|(_, folder)| PathBuf::from(folder)),
            guard: handlers.guard(),
            entry: Vec::new(),
        })
    }

    /// Makes what confines this run of the program, if the definition demands that.
    fn open_sandbox(
        &self,
        tool: &str,
        program: &Program,
        handlers: &Handlers,
    ) -> Result<Option<Sandbox>, String> {
        let deps = match handlers.sandbox() {
            _ if self.sandbox.mode.is_off() => return Ok(None),
            Some(deps) => deps,
            None => return Err("it cannot be confined: this program confines none".to_owned()),
        };
        let confined = SandboxedProgram {
            owner: tool,
            command: &program.command,
            args: &self.trusted_args(),
            env: &program.env,
            cwd: program.cwd.as_deref(),
        };
        Sandbox::open(&confined, &self.sandbox, deps)
    }
}

/// Refuses a NUL character, at which the system would end the text.
fn without_nul(template: &Template, args: &TemplateArguments) -> Result<(), ToolError> {
    let has_nul =
        |name: &&str| given(args, name).is_some_and(|value| text_of(value).contains('\0'));
    match template.arguments().find(has_nul) {
        Some(name) => {
            Err(ToolError::invalid(format_args!("'{name}' must not contain a NUL character")))
        }
        None => Ok(()),
    }
}

/// A tool that runs a program.
pub(crate) struct CommandTool {
    spec: ToolSpec,
    command: CommandTemplate,
    handlers: Handlers,
}

impl CommandTool {
    pub(crate) fn new(spec: ToolSpec, command: CommandTemplate, handlers: Handlers) -> Self {
        Self { spec, command, handlers }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let Value::Object(args) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let mut program = self.command.prepare(&args, &self.handlers)?;
        if let Some(key) = &cx.call_key {
            program.env.entry(KEY_VARIABLE.to_owned()).or_insert_with(|| key.to_string());
        }
        let sandbox = self.command.open_sandbox(&self.spec.name, &program, &self.handlers);
        let sandbox = sandbox.map_err(|reason| {
            let text = format!("cannot start '{}': {reason}", program.command);
            confinement_failed(&self.spec.name, &text)
        })?;
        if let Some(sandbox) = &sandbox {
            program.entry = sandbox.entry().to_vec();
        }
        let input = self.command.stdin.as_ref().and_then(|stdin| stdin.fill(&args));
        let stdout = CapturedOutput::keeping(KEPT / 2, KEPT / 2);
        let stderr = CapturedOutput::keeping(0, KEPT_OF_STDERR);
        let finished = program.run(input.unwrap_or_default().as_bytes(), stdout, stderr).await;
        let finished = finished.map_err(|error| self.not_started(error, &args))?;
        let outcome = outcome::of(&self.spec.name, &self.command, finished);
        outcome.map_err(|error| {
            match sandbox.as_ref().and_then(|sandbox| sandbox.hint(0, &error.for_model)) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }

    fn not_started(&self, error: StartError, args: &TemplateArguments) -> ToolError {
        let longest = args.iter().max_by_key(|(_, value)| text_of(value).len());
        match (&error, longest) {
            (StartError::TooLong, Some((name, value))) => {
                let length = text_of(value).chars().count();
                ToolError::invalid(format_args!(
                    "'{name}' is too long for a command line ({length} characters)"
                ))
            }
            _ => unavailable(&self.spec.name, &error),
        }
        .caused_by(error)
    }
}

/// The error of a call whose program cannot be started.
fn unavailable(tool: &str, reason: &dyn std::fmt::Display) -> ToolError {
    let text = format!("Tool '{tool}' is unavailable: {reason}");
    let hint =
        "Is the program installed, and do `program` and `cwd` of the tool's definition lead to it?";
    ToolError::new(ErrorKind::Unavailable, text).with_hint(hint)
}

/// The error of a call whose program cannot be confined.
fn confinement_failed(tool: &str, reason: &str) -> ToolError {
    let text = format!("Tool '{tool}' is unavailable: {reason}");
    let hint = "Is the program installed? If it cannot be confined here, `sandbox = \"try\"` in the tool's definition \
                starts it all the same, with a warning";
    ToolError::new(ErrorKind::Unavailable, text).with_hint(hint)
}

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    // At the deadline, or if the caller cancels, the executor drops this, which ends the program.
    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(args, cx))
    }
}
