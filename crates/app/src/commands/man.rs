//! `switchboard man`: the manual pages, made from the help.

use std::{fs, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;

use crate::{
    cli::{Cli, ManArgs},
    terminal,
};

pub(super) fn run(man: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut command = Cli::command();
    match &man.output {
        Some(folder) => {
            let failed = || format!("failed to write manual pages to `{}`", folder.display());
            fs::create_dir_all(folder).with_context(failed)?;
            clap_mangen::generate_to(command, folder).with_context(failed)?;
        }
        None => {
            command.build();
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            terminal::print(String::from_utf8_lossy(&page).trim_end())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
