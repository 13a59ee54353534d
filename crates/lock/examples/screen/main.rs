//! Prints what the screen finds of the attacks of `tests/corpus`, and how often it warns about definitions of real tools:
//! `cargo xtask screen`, with `--missed` for those. With folders, it measures what these have instead: `attacks.tsv` as in
//! `tests/corpus`, `tools.jsonl` as in `crates/search/recall`.

mod corpus;

use std::{env, path::Path};

use corpus::{Alarms, own_attacks, own_tools};

/// The attacks that are stored here. What is missed of sets that are held out is only counted: who has read it has them no more.
const ATTACKS: [&str; 4] = ["attacks", "held-out", "held-out-2", "held-out-3"];

/// The real tools that are stored here.
const TOOLS: [&str; 3] = ["own", "other", "reference"];

fn main() {
    let (options, folders): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|word| word.starts_with("--"));
    println!("| set | definitions | warned about | |\n|---|---|---|---|");
    let mut missed = Vec::new();
    match folders.is_empty() {
        true => own(&mut missed),
        false => folders.iter().for_each(|folder| measure(folder, &mut missed)),
    }
    if options.iter().any(|option| option == "--missed") {
        println!("\n{}", missed.join("\n"));
    }
}

/// Measures what is stored here.
fn own(missed: &mut Vec<String>) {
    for set in ATTACKS {
        attacks(set, &own_attacks(&format!("{set}.tsv")), missed);
    }
    let mut all = [0; 2];
    for set in TOOLS {
        let (count, warned) = tools(set, &own_tools(set), missed);
        all = [all[0] + count, all[1] + warned];
    }
    row("real tools, all", all[0], all[1]);
}

/// Measures what a folder has.
fn measure(folder: &str, missed: &mut Vec<String>) {
    let [attacks_file, tools_file] =
        ["attacks.tsv", "tools.jsonl"].map(|name| Path::new(folder).join(name));
    assert!(attacks_file.exists() || tools_file.exists(), "{folder} has neither");
    if attacks_file.exists() {
        attacks(folder, &attacks_file, missed);
    }
    if tools_file.exists() {
        tools(folder, &tools_file, missed);
    }
}

fn attacks(set: &str, file: &Path, missed: &mut Vec<String>) {
    let attacks = corpus::attacks(file);
    let (found, not_found): (Vec<_>, Vec<_>) =
        attacks.iter().partition(|attack| !attack.findings().is_empty());
    row(set, attacks.len(), found.len());
    if !set.starts_with("held-out") {
        missed.extend(not_found.iter().map(|attack| format!("{set}: {}", attack.line())));
    }
}

/// Returns how many tools there are, and how many of them are warned about.
fn tools(set: &str, file: &Path, missed: &mut Vec<String>) -> (usize, usize) {
    let tools = corpus::real_tools(file);
    let alarms = Alarms::of(&tools);
    row(&format!("real tools, {set}"), tools.len(), alarms.any);
    row("… for what they say", tools.len(), alarms.texts);
    row("… for a name of another of these servers", tools.len(), alarms.names);
    missed.extend(alarms.lines);
    (tools.len(), alarms.any)
}

fn row(set: &str, all: usize, found: usize) {
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let share = 100.0 * found as f64 / all as f64;
    println!("| {set} | {all} | {found} | {share:.1} % |");
}
