//! `switchboard trust PATH`: a config that is found in its folder may be used as it is now (SPEC PO-3).

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use serde_json::json;
use switchboard_toolcall::text::visible;

use crate::{
    cli::TrustArgs,
    settings::{FILE_NAME, trust},
    terminal,
};

pub(super) fn run(wanted: &TrustArgs) -> anyhow::Result<ExitCode> {
    let path = Path::new(&wanted.what);
    let given = visible(&wanted.what).into_owned();
    let file = match path.is_dir() {
        true => path.join(FILE_NAME),
        false => path.to_owned(),
    };
    if !file.exists() {
        match path.is_dir() {
            true => bail!("there is no {FILE_NAME} in `{given}`"),
            false => bail!("there is no file or folder `{given}`"),
        }
    }
    if file.file_name() != Some(Path::new(FILE_NAME).as_os_str()) {
        bail!("only a {FILE_NAME} is found by itself; name `{given}` with --config");
    }
    let effects = trust::trust(&file)?;
    if wanted.json {
        let config = file.display().to_string();
        terminal::print(&json!({"config": config, "trusted": effects}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = file.to_string_lossy();
    let shown = visible(&shown);
    terminal::tell(&match effects.is_empty() {
        true => format!("`{shown}` needs no trust: it starts no program and reads no variable"),
        false => format!("`{shown}` is trusted until it changes. It may\n{effects}"),
    });
    Ok(ExitCode::SUCCESS)
}
