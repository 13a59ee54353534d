//! The commands of a block, and what it shows of their output.

use std::process::{Command, Stdio};

/// A command, with what stands below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// How many lines of the block are before it.
    pub(crate) offset: usize,
    pub(crate) command: String,
    pub(crate) output: Vec<String>,
}

/// Returns the commands of a block of shell: all of `sh`, and the lines after `$ ` of `console`.
///
/// # Errors
/// A line that a shell cannot read.
pub(crate) fn of(language: &str, text: &str) -> Result<Vec<Shown>, String> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut unfinished: Option<Shown> = None;
    for (offset, line) in text.lines().enumerate() {
        let is_more = unfinished.is_some();
        let typed = match language {
            "console" if is_more => Some(line),
            "console" => line.strip_prefix("$ "),
            _ => Some(line),
        };
        let Some(typed) = typed else {
            match commands.last_mut() {
                Some(command) => command.output.push(line.to_owned()),
                None => return Err("a block of `console` begins with a command: `$ …`".to_owned()),
            }
            continue;
        };
        if typed.trim().is_empty() || typed.trim_start().starts_with('#') && !is_more {
            continue;
        }
        let mut shown = unfinished.take().unwrap_or(Shown {
            offset,
            command: String::new(),
            output: Vec::new(),
        });
        if is_more {
            shown.command.push('\n');
        }
        shown.command.push_str(typed);
        if typed.ends_with('\\') || !is_complete(&shown.command) {
            unfinished = Some(shown);
        } else {
            commands.push(shown);
        }
    }
    match unfinished {
        Some(shown) => Err(format!("a shell cannot read this command: {}", shown.command)),
        None => Ok(commands),
    }
}

/// Returns whether a shell could run this as it is.
fn is_complete(command: &str) -> bool {
    let mut shell = Command::new("bash");
    shell.args(["-n", "-c", command]).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().unwrap().success()
}

/// Returns the command without the comment at its end.
pub(crate) fn without_comment(command: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (index, c) in command.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '#') if before.is_whitespace() => return command[..index].trim_end(),
            _ => {}
        }
        before = c;
    }
    command
}

/// Returns the words of a command without its comment, quotes removed; variables before the program are left out.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in without_comment(command).chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == c => quote = None,
            (None, ' ' | '\n' | '\\') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let is_variable = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default();
        name.len() < word.len() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    let variables = words.iter().take_while(is_variable).count();
    words.split_off(variables)
}

/// Returns the name under which a command that runs until it is stopped does so: `serve`, `worker` …
pub(crate) fn runs_on(command: &str) -> Option<&'static str> {
    let words = words(command);
    match words.first().map(String::as_str) {
        Some("switchboard") => {}
        Some("prometheus") => return Some("prometheus"),
        _ => return None,
    }
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    match () {
        () if has("serve") && !has("--stdio") => Some("serve"),
        () if has("worker") => Some("worker"),
        () if has("voice") && !words.iter().any(|word| word.starts_with("wav:")) => Some("voice"),
        () if has("calls") && has("--follow") => Some("follow"),
        () => None,
    }
}

#[test]
fn commands_are_told_from_their_output() {
    let seen = of("console", "$ one \\\n  two\nsays\n$ three\n").unwrap();
    let shown = |offset, command: &str, output: &[&str]| Shown {
        offset,
        command: command.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(seen, [shown(0, "one \\\n  two", &["says"]), shown(3, "three", &[])]);
    let seen = of("sh", "# why\nwhile true; do\n  x\ndone < y\nz   # what\n").unwrap();
    assert_eq!(seen, [shown(1, "while true; do\n  x\ndone < y", &[]), shown(4, "z   # what", &[])]);
    assert!(of("sh", "echo 'open\n").is_err());
    assert!(of("console", "says\n").is_err());
}

#[test]
fn words_are_those_of_a_shell() {
    assert_eq!(words("A=1 cargo run 'a b' --x=\"#\" # c"), ["cargo", "run", "a b", "--x=#"]);
    assert_eq!(runs_on("switchboard --replay x serve   # a"), Some("serve"));
    assert_eq!(runs_on("switchboard serve --stdio"), None);
    assert_eq!(runs_on("echo serve"), None);
    assert_eq!(runs_on("prometheus --config.file=p.yml"), Some("prometheus"));
}
