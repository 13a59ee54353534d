//! The notes before a block, in a comment that no reader of the rendered page sees: `<!-- test WORD: VALUE -->`, or a line for each.

/// The parts that `setup` can name; `setups.rs` starts them.
pub(crate) const SETUPS: [&str; 8] =
    ["broker", "home-assistant", "household", "nats", "ollama", "searxng", "sound", "speech"];

/// What the comment says.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Parts that run from here to the end of the page (`setups.rs`).
    pub(crate) setup: Vec<String>,
    /// Commands that are run first.
    pub(crate) before: Vec<String>,
    /// The file that the block becomes, or is added to.
    pub(crate) file: Option<File>,
    /// Commands that are run after the block, and must succeed.
    pub(crate) then: Vec<String>,
    /// The command that prints the block.
    pub(crate) output: Option<String>,
    /// Texts of the block that stand for what a command prints, such as ids.
    pub(crate) replace: Vec<(String, String)>,
    /// The exit statuses of the commands, in their order; 0 for the rest.
    pub(crate) status: Vec<i32>,
    /// The file of the repository that has these lines.
    pub(crate) excerpt_of: Option<String>,
    /// Why the block is not run.
    pub(crate) parse: Option<String>,
}

/// A file in the folder of the page.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) is_appended: bool,
}

impl Notes {
    /// Reads what stands between `<!-- test` and `-->`.
    ///
    /// # Errors
    /// A word that is not known, or a value that makes no sense.
    pub(crate) fn parse(comment: &str) -> Result<Self, String> {
        let mut notes = Self::default();
        for line in comment.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.trim().to_owned();
            if value.is_empty() {
                return Err(format!("`{word}` needs a value: `{word}: …`"));
            }
            match word.trim() {
                "setup" => notes.setup = setups(&value)?,
                "before" => notes.before.push(value),
                "file" => notes.file = Some(File { name: value, is_appended: false }),
                "append" => notes.file = Some(File { name: value, is_appended: true }),
                "then" => notes.then.push(value),
                "output" => notes.output = Some(value),
                "let" => {
                    let (text, command) = value
                        .split_once(" = ")
                        .ok_or("`let` is written as `let: TEXT = COMMAND`")?;
                    notes.replace.push((text.to_owned(), command.to_owned()));
                }
                "status" => {
                    let numbers = value.split_whitespace().map(str::parse);
                    let wrong = |_| format!("`status` is a list of numbers, not `{value}`");
                    notes.status = numbers.collect::<Result<_, _>>().map_err(wrong)?;
                }
                "in" => notes.excerpt_of = Some(value),
                "parse" => notes.parse = Some(value),
                other => {
                    return Err(format!(
                        "`{other}` is not a word of these comments; they are setup, before, file, append, then, output, \
                         let, status, in and parse (docs/writing.md)"
                    ));
                }
            }
        }
        Ok(notes)
    }
}

fn setups(value: &str) -> Result<Vec<String>, String> {
    let names: Vec<_> = value.split_whitespace().map(str::to_owned).collect();
    match names.iter().find(|name| !SETUPS.contains(&name.as_str())) {
        Some(unknown) => {
            Err(format!("there is no setup `{unknown}`; they are {}", SETUPS.join(", ")))
        }
        None => Ok(names),
    }
}

#[test]
fn each_line_is_a_note() {
    let notes = Notes::parse("\nsetup: nats ollama\nlet: k7mq = a = b\nstatus: 0 1\n").unwrap();
    assert_eq!(notes.setup, ["nats", "ollama"]);
    assert_eq!(notes.replace, [("k7mq".to_owned(), "a = b".to_owned())]);
    assert_eq!(notes.status, [0, 1]);
    assert!(Notes::parse(" status: one").unwrap_err().contains("`one`"));
    assert!(Notes::parse(" let: x").unwrap_err().contains("let: TEXT = COMMAND"));
    assert!(Notes::parse(" setup: moon").unwrap_err().contains("`moon`"));
    assert!(Notes::parse(" file").unwrap_err().contains("needs a value"));
}
