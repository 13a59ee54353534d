//! Prints how often questions find a tool that answers them among the first one, five and ten (hit@k), and which part of all that
//! do (recall@k): `cargo xtask recall`.
//!
//! Beside it is how many find one among five by counted substrings and by BM25 alone. Without arguments the sets of `recall/` are
//! used; `--missed` prints the questions that find none among the first five.

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
        let names = ["other", "unseen", "corpus-v1", "own", "reference", "steps", "languages"];
        sets = names.map(set::stored).into();
    }
    println!(
        "set        tools  questions  hit@1  hit@5  hit@10  recall@1  recall@5  recall@10  substrings hit@5  bm25 hit@5  build     search"
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
        "{:<10} {:>5}  {:>9}  {:>5.2}  {:>5.2}  {:>6.2}  {:>8.2}  {:>8.2}  {:>9.2}  {:>16.2}  {:>10.2}  {built:<8.1?}  {searched:.1?}",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        set.tools.len(),
        ranks.len(),
        set::hits(&ranks, 1),
        set::hits(&ranks, 5),
        set::hits(&ranks, 10),
        set::recall(&ranks, 1),
        set::recall(&ranks, 5),
        set::recall(&ranks, 10),
        set::hits(&baseline::substrings(&set), 5),
        set::hits(&baseline::bm25(&set), 5),
    );
    for ((question, answers), ranks) in set.questions.iter().zip(&ranks) {
        if prints_missed && !ranks.is_hit(5) {
            let found = index.search(question);
            let names = found.iter().take(3).filter_map(|found| index.name(found.document));
            let names = names.collect::<Vec<_>>().join(", ");
            println!("  {question}: {} is not among {names}", answers.join(" or "));
        }
    }
}
