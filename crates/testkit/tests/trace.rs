//! ARCHITECTURE.md follows a `tools/call` file by file; this checks that the files, functions and numbers are true.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// How many files a call may pass, and how many forms its arguments may take.
const MOST_FILES: usize = 53;
const MOST_FORMS: usize = 7;

/// Types of other crates that arguments are in.
const FOREIGN_TYPES: [&str; 2] = ["Bytes", "Value"];

/// A file of the path, and the function that is entered there: `function` or `Type::function`.
struct Entry {
    step: usize,
    is_way_back: bool,
    file: String,
    function: String,
}

impl Entry {
    fn name(&self) -> &str {
        self.function.rsplit("::").next().expect("a split has a first part")
    }

    fn type_name(&self) -> Option<&str> {
        self.function.split_once("::").map(|(name, _)| name)
    }

    fn crate_name(&self) -> &str {
        self.file.split('/').next().expect("a split has a first part")
    }

    /// Returns the name of the module that the file is.
    fn module(&self) -> &str {
        let path = Path::new(&self.file);
        path.file_stem().and_then(|stem| stem.to_str()).expect("files are named in ASCII")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source(file: &str) -> String {
    let path = root().join("crates").join(file);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("ARCHITECTURE.md names {file}: {error}"))
}

/// Returns the paragraphs and list items of the section.
fn blocks() -> Vec<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is text");
    let (_, section) = text.split_once("## A `tools/call`, file by file\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("a section follows");
    let mut blocks = vec![String::new()];
    for line in section.lines() {
        if line.is_empty() || step_number(line).is_some() {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().expect("there is always one");
        if !block.is_empty() {
            block.push(' ');
        }
        block.push_str(line.trim());
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

fn step_number(line: &str) -> Option<usize> {
    line.split_once(". ")?.0.parse().ok()
}

fn block(start: &str) -> String {
    let found = blocks().into_iter().find(|block| block.starts_with(start));
    found.unwrap_or_else(|| panic!("a paragraph begins with {start:?}"))
}

/// Returns what stands in backticks, with the text before each.
fn code(block: &str) -> Vec<(&str, &str)> {
    let parts: Vec<_> = block.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the files that a block names; `crate/src/` before them is said once for all that follow.
fn files(block: &str) -> Vec<String> {
    let mut folder = "";
    let mut files = Vec::new();
    for (_, code) in code(block) {
        if code.ends_with("/src/") {
            folder = code;
        } else if code.contains("/src/") {
            files.push(code.to_owned());
        } else if code.ends_with(".rs") {
            files.push(format!("{folder}{code}"));
        }
    }
    files
}

/// Returns the path: each file that a function follows.
fn path() -> Vec<Entry> {
    let mut path = Vec::new();
    for block in blocks() {
        let Some(step) = step_number(&block) else { continue };
        let is_way_back = block.contains(". Back: ");
        let (mut folder, mut file) = ("", String::new());
        for (before, code) in code(&block) {
            if code.ends_with("/src/") {
                folder = code;
            } else if code.ends_with(".rs") {
                let folder = if code.contains("/src/") { "" } else { folder };
                file = format!("{folder}{code}");
            } else if before == " " && !file.is_empty() {
                let (file, function) = (std::mem::take(&mut file), code.to_owned());
                path.push(Entry { step, is_way_back, file, function });
            }
        }
    }
    path
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether `word` stands in the text, and not as the name of a function that is defined there.
fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.bytes().next_back().is_some_and(is_word)
            && !after.bytes().next().is_some_and(is_word)
            && !before.ends_with("fn ")
    })
}

fn defines(text: &str, entry: &Entry) -> bool {
    let name = entry.name();
    let has_function = ["(", "<"].iter().any(|next| text.contains(&format!("fn {name}{next}")));
    let has_type = entry.type_name().is_none_or(|name| {
        text.lines().any(|line| line.starts_with("impl") && mentions(line, name))
    });
    has_function && has_type
}

/// Returns whether a file has the function called: it names it, and its type, module or crate.
fn calls(caller: &str, entry: &Entry) -> bool {
    let crate_name = format!("switchboard_{}", entry.crate_name().replace('-', "_"));
    let places = [entry.type_name(), Some(entry.module()), Some(crate_name.as_str())];
    mentions(caller, entry.name())
        && places.into_iter().flatten().any(|place| mentions(caller, place))
}

#[test]
fn each_file_of_the_trace_has_its_function() {
    for entry in path() {
        let Entry { file, function, step, .. } = &entry;
        assert!(defines(&source(file), &entry), "step {step}: {file} has no {function}");
    }
}

#[test]
fn each_function_of_the_trace_is_called_by_a_file_before_it() {
    let path = path();
    let sources: Vec<_> = path.iter().map(|entry| source(&entry.file)).collect();
    for (at, entry) in path.iter().enumerate().skip(1) {
        // On the way back, control returns to files that were entered long before.
        let is_near = |caller: &Entry| {
            entry.is_way_back || caller.step + 1 >= entry.step || is_executor(caller)
        };
        let callers = path[..at].iter().zip(&sources).filter(|(caller, _)| is_near(caller));
        let mut callers = callers.filter(|(caller, _)| caller.file != entry.file);
        let Entry { file, function, step, .. } = entry;
        assert!(
            callers.any(|(_, source)| calls(source, entry)),
            "step {step}: no file before {file} calls {function}"
        );
    }
}

/// Returns whether the steps of the runtime, and of the gateway's entry, are called from this file.
fn is_executor(caller: &Entry) -> bool {
    ["runtime/src/call.rs", "gateway/src/admission.rs"].contains(&caller.file.as_str())
}

#[test]
fn the_numbers_of_the_trace_are_true() {
    let path: BTreeSet<_> = path().into_iter().map(|entry| entry.file).collect();
    assert!(path.len() <= MOST_FILES, "{} files are on the path: {path:#?}", path.len());
    let intro = block("A call in an MCP session");
    assert!(intro.contains(&format!(" {} files", path.len())), "{} files: {intro}", path.len());

    let block = block("Beside the path");
    let observers: BTreeSet<_> = files(&block).into_iter().collect();
    observers.iter().for_each(|file| drop(source(file)));
    assert!(observers.is_disjoint(&path), "a file cannot be on the path and beside it");
    let said = format!(" {} files only observe", observers.len());
    assert!(block.contains(&said), "{} files observe: {block}", observers.len());
}

#[test]
fn the_forms_of_the_arguments_exist() {
    let block = block("Forms of arguments");
    let words = code(&block);
    let forms: Vec<_> = words.windows(2).filter(|pair| pair[1].0 == " in ").collect();
    assert!((4..=MOST_FORMS).contains(&forms.len()), "{} forms", forms.len());
    for form in forms {
        let (name, file) = (form[0].1, form[1].1);
        let text = source(file);
        let is_own = ["struct", "enum"].iter().any(|kind| text.contains(&format!("{kind} {name}")));
        let is_foreign = FOREIGN_TYPES.contains(&name) && mentions(&text, name);
        assert!(is_own || is_foreign, "{file} has no {name}");
    }
}
