//! The tasks of the people who work on Switchboard, and of CI: `cargo xtask TASK`.
//!
//! Each task is a module; what all share (running a command, the repository's root) is in `shell`.

mod ci;
mod test;
mod parts;
mod spec;
mod conformance;
mod console;
mod deny;
mod msrv;
mod recall;
mod screen;
mod package;
mod fuzz;
mod dist;
mod bench;
mod program;
mod serving;
mod simulate;
mod shell;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

/// The tasks of the people who work on Switchboard, and of CI.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct XtaskArguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything CI checks: formatting, lints, docs, spec ids, dependencies, then all tests
    Ci,
    /// Install what the tests need, then run all of them
    Test {
        /// Only tests that need nothing installed; under five minutes on two cores, once built
        #[arg(long, conflicts_with = "ollama")]
        quick: bool,
        /// Instead of all others, run the test that asks the Ollama at this address
        #[arg(long, value_name = "URL")]
        ollama: Option<String>,
        /// The model that it asks
        #[arg(long, value_name = "NAME", default_value = "qwen3:0.6b", requires = "ollama")]
        ollama_model: String,
        /// Only tests whose name contains one of these
        #[arg(last = true)]
        filters: Vec<String>,
    },
    /// Only install what the tests need
    Parts,
    /// Tell which requirements of docs/spec.md no test names yet
    Spec {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print how often questions find a tool that answers them among the first one, five and ten, and which part of all that do
    Recall {
        /// Print the questions that find theirs not among the first five, too
        #[arg(long)]
        missed: bool,
        /// Folders with `tools.jsonl` and `questions.tsv`, instead of those of crates/search/recall
        sets: Vec<String>,
    },
    /// Print how many attacks the screen of definitions finds, and how many definitions of real tools it warns about
    Screen {
        /// Print what was missed, and the warnings, too
        #[arg(long)]
        missed: bool,
        /// Folders with `attacks.tsv` or `tools.jsonl`, instead of those of crates/lock/tests/corpus and crates/search/recall
        sets: Vec<String>,
    },
    /// Check licences, sources and advisories of the crates that the program is made of, and NOTICE
    Deny,
    /// Check that the crates build with the oldest Rust that they promise
    Msrv,
    /// Check that every published crate packages, and says what it is
    Package,
    /// Run the fuzz targets, one after another
    Fuzz {
        /// How long in all: `90s`, `10m`, `1h`
        #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = duration)]
        time: Duration,
        /// Only this one
        #[arg(long, value_name = "NAME")]
        target: Option<String>,
        /// Add what reached new code to fuzz/corpus
        #[arg(long)]
        keep: bool,
    },
    /// Check the console's page, then take the pictures of docs/console.md again
    Console {
        /// Take no pictures
        #[arg(long)]
        check: bool,
    },
    /// Make what is published, into target/dist: static programs, .deb, wheel, npm package, container image, sums, SBOM
    Dist(dist::DistOptions),
    /// Measure the gateway beside the direct way to the same server: rates, processor time, memory
    Bench(bench::BenchOptions),
    /// Simulate a fleet of workers and gateways, with three NATS servers on this machine: what each sends, receives, computes
    Simulate(simulate::SimulateOptions),
    /// Run the MCP conformance suite and write the tables of docs/conformance.md
    Conformance {
        /// Write nothing, and fail where the tables would change
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match XtaskArguments::parse().task {
        Task::Ci => ci::run(),
        Task::Test { ollama: Some(url), ollama_model, .. } => test::ollama(&url, &ollama_model),
        Task::Test { quick: true, filters, .. } => test::quick(&filters),
        Task::Test { filters, .. } => test::run(&filters),
        Task::Parts => parts::install().map(drop),
        Task::Spec { json } => spec::run(json),
        Task::Recall { missed, sets } => recall::run(missed, &sets),
        Task::Screen { missed, sets } => screen::run(missed, &sets),
        Task::Deny => deny::check(),
        Task::Msrv => msrv::check(),
        Task::Package => package::check(),
        Task::Fuzz { time, target, keep } => fuzz::run(time, target.as_deref(), keep),
        Task::Console { check: true } => console::check(),
        Task::Console { check: false } => console::run(),
        Task::Dist(options) => dist::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Simulate(options) => simulate::run(&options),
        Task::Conformance { check } => conformance::run(check),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} {error:#}", shell::red("error:"));
            ExitCode::FAILURE
        }
    }
}

/// Reads a number with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = |suffix: char, factor: u64| {
        let number: u64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(factor)?))
    };
    let units = [('s', 1), ('m', 60), ('h', 3600)];
    let read = units.into_iter().find_map(|(suffix, factor)| seconds(suffix, factor));
    read.ok_or_else(|| "say it as in 90s, 10m or 1h".to_owned())
}
