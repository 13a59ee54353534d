//! `switchboard`: the one binary. Reads settings, wires the crates together and runs one command.

mod cli;
mod environment;
mod logging;
mod settings;
mod house;
mod arguments;
mod commands;
mod excerpt;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    logging::start(&cli);
    commands::run(&cli).unwrap_or_else(|error| terminal::report(&error, cli.color))
}
