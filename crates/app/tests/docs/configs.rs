//! Every config of the docs is loaded by the program: by itself, or together with what its page has said of the same file.

use crate::{
    page::{self, Block, Kind, Page},
    report,
    shell::{Shell, Step},
};

// PO-3: `--config` names it, so nobody has to trust it. `echo` is no server's, so that none is started.
const LOAD: &str = "switchboard call echo --json --config";

#[test]
fn every_config_loads() {
    let complaints: Vec<_> = page::all().iter().flat_map(load_all).collect();
    report(&complaints);
}

fn load_all(page: &Page) -> Vec<String> {
    let shell = Shell::new();
    let is_config = |block: &&Block| block.kind() == Ok(Kind::Config);
    page.blocks.iter().filter(is_config).filter_map(|block| load(&shell, block).err()).collect()
}

fn load(shell: &Shell, block: &Block) -> Result<(), String> {
    let name = match &block.notes.file {
        None => "alone.toml",
        Some(file) => &file.name,
    };
    let is_appended = block.notes.file.as_ref().is_some_and(|file| file.is_appended);
    shell.write(name, &block.text, is_appended);
    let before = block.notes.before.iter().filter(|command| command.starts_with("export "));
    let mut steps: Vec<_> = before.map(|command| Step::new(command)).collect();
    steps.push(Step::new(&format!("{LOAD} {name}")));
    let ran = shell.run(&steps.iter().collect::<Vec<_>>())?;
    let last = ran.last().unwrap();
    match last.status {
        // 1: the config's policy may deny `echo`.
        0 | 1 => Ok(()),
        _ => Err(format!("{}: this config does not load: {}", block.place, last.output())),
    }
}
