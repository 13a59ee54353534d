//! A guard and nothing else, for tests: `guard COMMAND ARGS…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard_process::guard::run(std::env::args_os().skip(1))
}
