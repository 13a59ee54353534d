//! Confines itself and becomes a program, for the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard_sandbox::enter(std::env::args_os().skip(2))
}
