//! Prints what the screen finds of the attacks of `tests/corpus`, and how often it warns about definitions of real tools:
//! `cargo run -p switchboard-lock --example screen`, with `--missed` for those.

mod corpus;

use std::env;

use corpus::Alarms;

fn main() {
    let names_missed = env::args().any(|word| word == "--missed");
    println!("| set | definitions | warned about | |\n|---|---|---|---|");
    let mut missed = Vec::new();
    for file in ["attacks.tsv", "held-out.tsv"] {
        let attacks = corpus::attacks(file);
        let (found, not_found): (Vec<_>, Vec<_>) =
            attacks.iter().partition(|attack| !attack.findings().is_empty());
        row(file.trim_end_matches(".tsv"), attacks.len(), found.len());
        missed.extend(not_found.iter().map(|attack| attack.line()));
    }
    for set in ["own", "other", "reference"] {
        let tools = corpus::real_tools(set);
        let alarms = Alarms::of(&tools);
        row(&format!("real tools, {set}"), tools.len(), alarms.texts);
        row("the same, for a name of another of these servers", tools.len(), alarms.names);
        missed.extend(alarms.lines);
    }
    if names_missed {
        println!("\n{}", missed.join("\n"));
    }
}

fn row(set: &str, all: usize, found: usize) {
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let share = 100.0 * found as f64 / all as f64;
    println!("| {set} | {all} | {found} | {share:.1} % |");
}
