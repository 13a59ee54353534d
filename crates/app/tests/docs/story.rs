//! One page, run from top to bottom.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    commands::{self, Shown},
    page::{self, Block, Kind},
    run::Run,
    setups::{Setups, part},
    shell::Shell,
};

/// Runs the page, and returns what did not hold.
pub(crate) fn run(path: &str) -> Vec<String> {
    let shell = Shell::new();
    let own = |name: &str| {
        let script = format!("{}/tests/docs/{name}.py", env!("CARGO_MANIFEST_DIR"));
        format!("{} {script} ", part("mcp-python/venv/bin/python").display())
    };
    let installed = |path: &str| part(path).display().to_string();
    let programs = [
        ("nats-server", installed("nats/venv/bin/nats-server ")),
        ("python", installed("gateway-clients/venv/bin/python ")),
        ("forms", own("forms")),
        ("library", own("library")),
        ("claude", own("claude_desktop")),
        // These would fetch the package first; ours are installed, and the first word says which.
        ("uvx", installed("mcp-python/venv/bin/")),
        (
            "npx",
            format!(
                "sh -c 's=${{1##*/}}; shift; exec {}/mcp-$s \"$@\"' ",
                installed("mcp-node/node_modules/.bin")
            ),
        ),
    ];
    for (name, program) in programs {
        let file = shell.bin().join(name);
        fs::write(&file, format!("#!/bin/sh\nexec {program}\"$@\"\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut setups = Setups::default();
    let mut complaints = Vec::new();
    for block in page::read(path).blocks {
        block.notes.setup.iter().for_each(|name| setups.start(name, &shell));
        complaints.extend(block_holds(&shell, &block).err());
        let ended = shell.ended();
        complaints.extend(
            ended.iter().map(|name| format!("{}: `{name}` has ended by itself", block.place)),
        );
    }
    complaints
}

fn block_holds(shell: &Shell, block: &Block) -> Result<(), String> {
    let kind = block.kind()?;
    if matches!(kind, Kind::Excerpt | Kind::DocTest | Kind::Parsed) {
        return Ok(());
    }
    if let Some(file) = &block.notes.file {
        shell.write(&file.name, &block.text, file.is_appended);
    }
    let shown = match kind {
        Kind::Commands => commands::of(&block.language, &block.text)
            .map_err(|error| format!("{}: {error}", block.place))?,
        Kind::Output => vec![Shown {
            offset: 0,
            command: block.notes.output.clone().unwrap_or_default(),
            output: Vec::new(),
        }],
        _ => Vec::new(),
    };
    Run::new(block, shown).go(shell)
}
