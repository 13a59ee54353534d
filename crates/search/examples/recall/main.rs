//! Prints how often questions find their tool among the first one, five and ten: `cargo xtask recall`.
//!
//! Beside it is how many find it among five by counted substrings and by BM25 alone. Without arguments the sets of `recall/` are used; `--missed` prints the questions whose tool is not among the first five.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

mod baseline;
mod set;

use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use set::RecallSet;

fn main() {
    let (flags, sets): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let prints_missed = flags.iter().any(|flag| flag == "--missed");
    let mut sets: Vec<PathBuf> = sets.into_iter().map(PathBuf::from).collect();
    if sets.is_empty() {
        sets = ["own", "held-out", "other", "steps"].map(set::stored).into();
    }
    println!(
        "set        tools  questions  recall@1  recall@5  recall@10  substrings@5  bm25@5  build     search"
    );
    for set in sets {
        measure(&set, prints_missed);
    }
}

fn measure(folder: &Path, prints_missed: bool) {
    let set = RecallSet::read(folder);
    let begin = Instant::now();
    let index = set.index();
    let built = begin.elapsed();
    let begin = Instant::now();
    let ranks = set.ranks(&index);
    let searched = begin.elapsed() / u32::try_from(ranks.len().max(1)).unwrap_or(1);
    println!(
        "{:<10} {:>5}  {:>9}  {:>8.2}  {:>8.2}  {:>9.2}  {:>12.2}  {:>6.2}  {built:<8.1?}  {searched:.1?}",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        set.tools.len(),
        ranks.len(),
        set::recall(&ranks, 1),
        set::recall(&ranks, 5),
        set::recall(&ranks, 10),
        set::recall(&baseline::substrings(&set), 5),
        set::recall(&baseline::bm25(&set), 5),
    );
    for ((question, answers), rank) in set.questions.iter().zip(&ranks) {
        if prints_missed && *rank >= 5 {
            let found = index.search(question);
            let names = found.iter().take(3).filter_map(|found| index.name(found.document));
            let names = names.collect::<Vec<_>>().join(", ");
            println!("  {question}: {} is not among {names}", answers.join(" or "));
        }
    }
}
