//! One module per command.

mod tools;
mod call;
mod resources;
mod prompts;
mod ask;
pub(crate) mod chat;
mod lists;
mod doctor;
mod add;
mod edit_servers;
mod secret_values;
mod init;
mod connect;
pub(crate) mod import;
mod config;
mod completions;
mod man;
mod serve;
mod servers;
pub(crate) mod token;
mod secret;
mod login;
mod sign_in_view;
mod api_view;
mod approve;
pub(crate) mod calls;
mod runs;
mod policy;
mod profile;
mod zwave;
mod voice;
mod worker;
mod cluster;
mod trust;
mod lock;
mod sandbox;
mod current_tools;
mod server_source;

use std::process::ExitCode;

use crate::{
    cli::{Cli, CliCommand},
    version,
};

/// Runs the command and returns the exit status: 0, or 1 if the tool or the answer failed.
///
/// # Errors
/// Wrong usage or a wrong config.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        CliCommand::Tools(tools) => tools::run(tools, cli),
        CliCommand::Call(call) => call::run(call, cli),
        CliCommand::Resources(resources) => resources::run(resources, cli),
        CliCommand::Prompts(prompts) => prompts::run(prompts, cli),
        CliCommand::Ask(ask) => ask::run(ask, cli),
        CliCommand::Chat(chat) => chat::run(chat, cli),
        CliCommand::Doctor(doctor) => doctor::run(doctor, cli),
        CliCommand::Add(add) => add::run(add, cli),
        CliCommand::Remove(server) => edit_servers::remove(server, cli),
        CliCommand::Enable(server) => edit_servers::enable(server, true, cli),
        CliCommand::Disable(server) => edit_servers::enable(server, false, cli),
        CliCommand::Init(init) => init::run(init, cli),
        CliCommand::Connect(connect) => connect::run(connect, cli),
        CliCommand::Import(import) => import::run(import, cli),
        CliCommand::Config(config) => config::run(config, cli),
        CliCommand::Completions(completions) => completions::run(completions),
        CliCommand::Man(args) => man::run(args),
        CliCommand::Version => version::run(),
        CliCommand::Serve(serve) => serve::run(serve, cli),
        CliCommand::Servers(args) => servers::run(args, cli),
        CliCommand::Restart(args) => servers::restart(args, cli),
        CliCommand::Logs(args) => servers::logs(args, cli),
        CliCommand::Token(token) => token::run(token, cli),
        CliCommand::Secret(secret) => secret::run(secret),
        CliCommand::Login(args) => login::run(args, cli),
        CliCommand::Logout(args) => login::logout(args, cli),
        CliCommand::Approve(approve) => approve::run(approve, cli),
        CliCommand::Calls(calls) => calls::run(calls, cli),
        CliCommand::Runs(runs) => runs::run(runs, cli),
        CliCommand::Policy(policy) => policy::run(policy, cli),
        CliCommand::Profile(profile) => profile::run(profile, cli),
        CliCommand::Zwave(zwave) => zwave::run(zwave, cli),
        CliCommand::Voice(voice) => voice::run(voice, cli),
        CliCommand::Worker(worker) => worker::run(worker, cli),
        CliCommand::Cluster(args) => cluster::run(args, cli),
        CliCommand::Trust(wanted) => trust::run(wanted, cli),
        CliCommand::Lock(args) => lock::run(args, cli),
        CliCommand::Sandbox(args) => sandbox::run(args, cli),
    }
}
