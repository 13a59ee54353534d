//! The program `switchboard`: reads settings, wires the crates together and runs one command.
//!
//! It is a library so that the fuzz targets can read configs. To embed the executor, use `switchboard-runtime`.

mod browser;
mod cli;
mod completion;
mod core_dumps;
mod version;
mod environment;
mod lock_watch;
mod logging;
mod vault;
mod sign_ins;
mod settings;
mod overrides;
mod records;
mod sandboxes;
mod approvals;
mod telemetry;
mod assembly;
mod profiles;
mod own_gateway;
mod own_program;
mod connections;
mod runtime;
mod interrupt;
mod cluster;
mod shipping;
mod arguments;
mod model;
mod questions;
mod turn_view;
mod commands;
mod excerpt;
mod terminal;

use std::{env, process::ExitCode};

use switchboard_process::guard;

#[doc(hidden)]
pub use settings::fuzzing;

/// Runs the command that the process's arguments say.
pub fn run() -> ExitCode {
    // One guard runs beside each server, so it costs nothing that it does not need.
    let mut words = env::args_os().skip(1);
    match words.next() {
        Some(word) if word == guard::ARGUMENT => return guard::run(words),
        Some(word) if word == switchboard_sandbox::ARGUMENT => {
            return switchboard_sandbox::enter(words);
        }
        _ => {}
    }
    if let Some(status) = completion::answer() {
        return status;
    }
    let cli = cli::parse();
    logging::start(&cli);
    core_dumps::disable();
    let status = commands::run(&cli).unwrap_or_else(|error| terminal::report(&error, cli.color));
    logging::flush();
    status
}
