//! `switchboard runs resume ID`: goes on with a run whose process ended (SPEC RN-2).

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use serde_json::json;
use switchboard_agent::{Resumable, RunDetail, RunStart, RunState};

use super::{failed, store};
use crate::{
    cli::{AskArgs, Cli, ModelArgs, ResumeRunArgs},
    commands::ask,
    settings::LoadedConfig,
    terminal::{self, CommandFailed},
};

pub(super) fn run(
    resume: &ResumeRunArgs,
    loaded: LoadedConfig,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let store = store(&loaded)?;
    let id = store.find(&resume.id).map_err(failed)?;
    let unfinished = match store.take(id).map_err(failed)? {
        Resumable::Ended(run) => return recorded(&run, resume.json),
        Resumable::Unfinished(unfinished) => *unfinished,
    };
    let start = unfinished.start();
    if !start.is_of_owner() {
        bail!(CommandFailed(of_client(start)));
    }
    let ask = AskArgs {
        question: Vec::new(),
        model_args: ModelArgs {
            model: Some(start.model.clone()),
            tools: start.settings.tools.clone(),
            profile: start.profile.clone(),
            system: None,
            max_iterations: start.settings.max_iterations,
        },
        stream: false,
        no_stream: false,
        json: resume.json,
        schema: None,
        timeout: None,
    };
    ask::begin(&ask, cli, loaded, Some(unfinished))
}

/// Says why the run of a client is not resumed here: its calls would have the rights of the owner.
fn of_client(start: &RunStart) -> String {
    let caller = start.caller.as_deref().unwrap_or("a client");
    format!(
        "run {} was asked by {caller}, whose rights and limits `runs resume` does not have; \
         the same request under the same key goes on with it, through the gateway",
        start.id
    )
}

/// Prints the recorded answer of a run that has ended.
fn recorded(run: &RunDetail, as_json: bool) -> anyhow::Result<ExitCode> {
    let summary = &run.summary;
    if as_json {
        let mut report = run.to_json();
        report["run_id"] = json!(summary.id);
        report["usage"] =
            json!({"input_tokens": summary.input_tokens, "output_tokens": summary.output_tokens});
        terminal::print(&report.to_string())?;
    }
    match (&run.answer, summary.state) {
        (Some(answer), RunState::Ended) => {
            if !as_json {
                terminal::print(answer)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        (_, state) => {
            let why = summary.error.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            let text =
                format!("run {} has {} without an answer{why}", summary.id, state_text(state));
            Err(anyhow!(CommandFailed(text)))
        }
    }
}

fn state_text(state: RunState) -> &'static str {
    match state {
        RunState::Cancelled => "been cancelled",
        RunState::Failed => "failed",
        _ => "ended",
    }
}
