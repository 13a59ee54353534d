//! Opens the user's browser.

use std::process::{Command, Stdio};

use crate::environment;

/// Opens the address with `$BROWSER`, or else with the system's command for that.
///
/// # Errors
/// No browser could be started: the reason.
pub(crate) fn open(url: &str) -> Result<(), String> {
    let system = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let set = environment::variable("BROWSER").ok().filter(|browser| !browser.trim().is_empty());
    let words = words(set.as_deref().unwrap_or(system), url);
    let (program, arguments) = words.split_first().ok_or("$BROWSER is empty")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|error| format!("`{program}`: {error}"))
}

/// The command line of a browser: the first one of a list, with the address for `%s` or at its end.
fn words(browser: &str, url: &str) -> Vec<String> {
    let first = browser.split(':').find(|browser| !browser.trim().is_empty()).unwrap_or_default();
    let mut words: Vec<_> = first.split_whitespace().map(|word| word.replace("%s", url)).collect();
    if !first.contains("%s") && !words.is_empty() {
        words.push(url.to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1
    #[test]
    fn browsers_are_named_as_people_do() {
        let url = "https://a.example/?x=%s";
        assert_eq!(words("firefox", url), ["firefox", url]);
        assert_eq!(words("firefox --new-window %s:lynx", url), ["firefox", "--new-window", url]);
        assert_eq!(words(":lynx", url), ["lynx", url]);
        assert!(words(" ", url).is_empty());
    }
}
