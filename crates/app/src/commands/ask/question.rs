//! The question: words of the command line, and the text on stdin.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    os::{fd::AsFd, unix::fs::FileTypeExt},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};

use crate::terminal;

/// The word that stands for stdin.
const STDIN: &str = "-";

/// How long to wait for stdin if the command line has no `-`: the program that started us may have left a pipe open.
const PATIENCE: Duration = Duration::from_secs(10);

/// Puts the question together.
///
/// # Errors
/// There is no question, or stdin cannot be read.
pub(super) fn read(words: &[String]) -> anyhow::Result<String> {
    let is_named = words.iter().any(|word| word == STDIN);
    let more = match is_named {
        true => Some(whole()?),
        false if is_fed() => unasked(!words.is_empty())?,
        false => None,
    };
    let question = joined(words, more.as_deref());
    if question.is_empty() {
        bail!("there is no question; write one, as in: switchboard ask \"What time is it?\"");
    }
    Ok(question)
}

/// Joins the words, with the text of stdin in place of `-`, or after them.
fn joined(words: &[String], more: Option<&str>) -> String {
    let more = more.unwrap_or_default().trim();
    let is_named = words.iter().any(|word| word == STDIN);
    let written = |word: &String| if word == STDIN { more.to_owned() } else { word.clone() };
    let written = words.iter().map(written).collect::<Vec<_>>().join(" ");
    let written = written.trim();
    match is_named || more.is_empty() {
        true => written.to_owned(),
        false => format!("{written}\n\n{more}").trim().to_owned(),
    }
}

/// Whether stdin is a pipe or a file, rather than a terminal, a socket or closed.
fn is_fed() -> bool {
    if io::stdin().is_terminal() {
        return false;
    }
    let kind = io::stdin().as_fd().try_clone_to_owned().and_then(|own| File::from(own).metadata());
    kind.is_ok_and(|kind| kind.is_file() || kind.file_type().is_fifo())
}

/// Reads all of stdin, however long it takes.
fn whole() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("failed to read stdin")?;
    text(bytes)
}

/// Reads all of stdin; returns `None` if nothing arrives in time and the words are a question without it.
fn unasked(has_words: bool) -> anyhow::Result<Option<String>> {
    if !has_words {
        return whole().map(Some);
    }
    let (sender, begun) = mpsc::channel();
    let reading = thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut bytes = vec![0; 8192];
        let first = stdin.read(&mut bytes)?;
        bytes.truncate(first);
        // Fails if the receiver has stopped waiting.
        let _ = sender.send(());
        if first > 0 {
            stdin.read_to_end(&mut bytes)?;
        }
        io::Result::Ok(bytes)
    });
    if begun.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        let seconds = PATIENCE.as_secs();
        terminal::tell(&format!(
            "warning: nothing came on stdin within {seconds}s; the question goes without it (`-` waits for it)"
        ));
        return Ok(None);
    }
    let read = reading.join().map_err(|_| anyhow::anyhow!("reading stdin failed"))?;
    text(read.context("failed to read stdin")?).map(Some)
}

fn text(bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes).context("what is on stdin is not UTF-8 text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_stdin_make_one_question() {
        let check = |words: &[&str], more: Option<&str>| {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            joined(&words, more)
        };
        assert_eq!(check(&["What", "is it?"], None), "What is it?");
        assert_eq!(check(&["Summarise:"], Some("a\nb\n")), "Summarise:\n\na\nb");
        assert_eq!(check(&["-"], Some(" hello\n")), "hello");
        assert_eq!(check(&["Translate", "-", "please"], Some("this")), "Translate this please");
        assert_eq!(check(&[], Some("hello")), "hello");
        assert_eq!(check(&[" "], Some("\n")), "");
    }
}
