//! One module per command.

mod tools;
mod call;
mod resources;
mod prompts;
mod ask;
mod chat;
mod lists;
mod doctor;
mod import;
mod completions;
mod serve;
mod token;
mod approve;
mod calls;
mod policy;
mod zwave;
mod voice;
mod worker;
mod trust;
mod known;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs the command and gives the exit status: 0, or 1 where the tool or the answer failed.
///
/// # Errors
/// Wrong usage or a wrong config.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Tools(tools) => tools::run(tools, cli),
        Command::Call(call) => call::run(call, cli),
        Command::Resources(resources) => resources::run(resources, cli),
        Command::Prompts(prompts) => prompts::run(prompts, cli),
        Command::Ask(ask) => ask::run(ask, cli),
        Command::Chat(chat) => chat::run(chat, cli),
        Command::Doctor(doctor) => doctor::run(doctor, cli),
        Command::Import(import) => import::run(import, cli),
        Command::Completions(completions) => completions::run(completions),
        Command::Serve(serve) => serve::run(serve, cli),
        Command::Token(token) => token::run(token, cli),
        Command::Approve(approve) => approve::run(approve, cli),
        Command::Calls(calls) => calls::run(calls, cli),
        Command::Policy(policy) => policy::run(policy, cli),
        Command::Zwave(zwave) => zwave::run(zwave, cli),
        Command::Voice(voice) => voice::run(voice, cli),
        Command::Worker(worker) => worker::run(worker, cli),
        Command::Trust(wanted) => trust::run(wanted),
    }
}
