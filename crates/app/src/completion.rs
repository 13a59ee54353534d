//! Completions for the shell: the script of `switchboard completions` asks the program itself at every tab.
//!
//! Completion must be fast and must change nothing: it starts no server, does not ask for trust, and offers no candidates from
//! files that it cannot read.

mod candidates;

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::CommandFactory;
use clap_complete::{Shell, env::Shells};

use crate::{cli::Cli, environment};

pub(crate) use candidates::{
    approval_ids, approval_rules, call_ids, chat_ids, import_sources, model_names, profile_names,
    recorded_tools, run_ids, server_names, sign_in_names, token_names, tool_names,
};

/// Set by the script, to the shell's name. Not clap's usual `COMPLETE`, which other programs use, too.
const VARIABLE: &str = "SWITCHBOARD_COMPLETE";

const AUTOLOADED: &[u8] = b"if [[ $funcstack[1] == _switchboard ]]; then
    _clap_dynamic_completer_switchboard \"$@\"
fi
";

/// The script that asks for completions. It names the program as people type it, so that it outlives an upgrade.
pub(crate) fn script(shell: Shell) -> anyhow::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name).ok_or_else(|| anyhow::anyhow!("no such shell"))?;
    completer.write_registration(
        VARIABLE,
        "switchboard",
        "switchboard",
        "switchboard",
        &mut script,
    )?;
    // If zsh autoloads the script as a function, it is read at the first tab, and has to answer that one, too.
    if shell == Shell::Zsh {
        script.extend_from_slice(AUTOLOADED);
    }
    Ok(script)
}

/// Prints completions if the script of a shell started the process; returns `None` otherwise.
pub(crate) fn answer() -> Option<ExitCode> {
    let shell = environment::variable(VARIABLE).ok().filter(|shell| !shell.is_empty())?;
    Some(match complete(&shell) {
        Ok(()) => ExitCode::SUCCESS,
        // Nothing is printed: it would be taken for a candidate, or appear in the line that is typed.
        Err(_) => ExitCode::FAILURE,
    })
}

fn complete(shell: &str) -> io::Result<()> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or(io::ErrorKind::InvalidInput)?;
    let mut answer = Vec::new();
    let folder = env::current_dir().ok();
    completer.write_complete(&mut Cli::command(), words(), folder.as_deref(), &mut answer)?;
    io::stdout().write_all(&answer)
}

/// The words of the line that is typed; the script passes them after `--`.
fn words() -> Vec<OsString> {
    env::args_os().skip_while(|word| word != "--").skip(1).collect()
}
