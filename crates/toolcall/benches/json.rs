//! Writing JSON: ours beside `serde_json`, for an answer of a few words, of 200 bytes and of a file's text.

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use switchboard_toolcall::json::write_value;

fn main() {
    divan::main();
}

/// A content part with a text of so many bytes, in lines of eighty.
fn part(bytes: usize) -> Value {
    let line = format!("{}\n", "the quick brown fox ".repeat(4));
    let text: String = line.chars().cycle().take(bytes).collect();
    json!({"type": "text", "text": text})
}

#[divan::bench(args = [20, 200, 100_000])]
fn ours(bencher: Bencher<'_, '_>, bytes: usize) {
    let part = part(bytes);
    bencher.bench_local(|| {
        let mut out = String::with_capacity(512);
        write_value(&mut out, black_box(&part));
        out
    });
}

#[divan::bench(args = [20, 200, 100_000])]
fn theirs(bencher: Bencher<'_, '_>, bytes: usize) {
    let part = part(bytes);
    bencher.bench_local(|| serde_json::to_string(black_box(&part)));
}
