//! The commands of a chat, which begin with a slash.

use std::path::PathBuf;

use switchboard_runtime::lookup::close_names;

/// A command to the chat itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Tools,
    /// Shows the model, or switches to another.
    Model(Option<String>),
    /// Saves the chat, in this file if one is named.
    Save(Option<PathBuf>),
    /// Shows how the model's window is used, and what was shortened.
    Context,
    /// Pins the last question with its answer, or asks one that is pinned.
    Pin(Option<String>),
    /// Takes all pins out.
    Unpin,
    /// Puts a shortened result, or what became a summary, back into the conversation; the last one if none is named.
    Expand(Option<String>),
    Clear,
    Quit,
}

pub(super) const HELP: &str = "\
/help          this list
/tools         the tools that the model may call
/model [NAME]  the model, or another one from now on: whatever -m takes
/save [FILE]   where the chat is saved, or save it in a file
/context       how much of the model's window the chat takes, and what was shortened
/pin [TEXT]    never leave out the last question and its answer to fit the model's window, or this text, which is said
/unpin         what was pinned may be left out again
/expand [ID]   put back what was shortened: the last, or the one of this artifact
/clear         begin a new chat
/quit          end, as Ctrl-D does

Ctrl-C cancels what the model does; at the prompt it clears the line, and twice it ends the chat.
A line that begins with // is said with one slash.";

const NAMES: [&str; 10] =
    ["help", "tools", "model", "save", "context", "pin", "unpin", "expand", "clear", "quit"];

impl Command {
    /// Parses a line: `None` if it is a message for the model, an error if there is no such command.
    pub(super) fn parse(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim();
        let rest = line.strip_prefix('/').filter(|rest| !rest.starts_with('/'))?;
        let (name, given) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let given = Some(given.trim().to_owned()).filter(|given| !given.is_empty());
        Some(match (name, given) {
            ("help" | "?", _) => Ok(Self::Help),
            ("tools", _) => Ok(Self::Tools),
            ("model", given) => Ok(Self::Model(given)),
            ("save", given) => Ok(Self::Save(given.map(PathBuf::from))),
            ("context", _) => Ok(Self::Context),
            ("pin", given) => Ok(Self::Pin(given)),
            ("unpin", _) => Ok(Self::Unpin),
            ("expand", given) => Ok(Self::Expand(given)),
            ("clear" | "new", _) => Ok(Self::Clear),
            ("quit" | "exit" | "q", _) => Ok(Self::Quit),
            (name, _) => Err(unknown(name)),
        })
    }
}

fn unknown(name: &str) -> String {
    match close_names(name, NAMES.into_iter()).first() {
        Some(near) => format!("there is no command /{name}; did you mean /{near}?"),
        None => format!("there is no command /{name}; /help lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-8
    #[test]
    fn lines_with_a_slash_are_commands() {
        let model = |name: Option<&str>| Command::Model(name.map(str::to_owned));
        for (line, expected) in [
            ("/help", Command::Help),
            (" /tools ", Command::Tools),
            ("/model", model(None)),
            ("/model  ollama:qwen3:0.6b", model(Some("ollama:qwen3:0.6b"))),
            ("/save my chat.json", Command::Save(Some("my chat.json".into()))),
            ("/context", Command::Context),
            ("/pin", Command::Pin(None)),
            ("/pin Be brief.", Command::Pin(Some("Be brief.".to_owned()))),
            ("/unpin", Command::Unpin),
            ("/expand a1", Command::Expand(Some("a1".to_owned()))),
            ("/exit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line), Some(Ok(expected)), "{line}");
        }
        assert_eq!(Command::parse("what is 1/2?"), None);
        assert_eq!(Command::parse("//etc is a folder"), None);
        let says = |line| Command::parse(line).unwrap().unwrap_err();
        assert_eq!(says("/tols"), "there is no command /tols; did you mean /tools?");
        assert_eq!(says("/zzzz"), "there is no command /zzzz; /help lists them");
    }
}
