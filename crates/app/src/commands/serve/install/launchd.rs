//! An agent of launchd, on macOS.

use std::path::Path;

use super::{MARK, ManagerCommand, Service};

pub(super) const LABEL: &str = "switchboard.gateway";

/// The property list of the agent.
pub(super) fn plist(Service { program, args, variables }: &Service) -> String {
    let string = |text: &str| format!("    <string>{}</string>\n", escaped(text));
    let program = string(&program.display().to_string());
    let args: String = args.iter().map(|word| string(word)).collect();
    let variables: String = variables
        .iter()
        .map(|(name, value)| format!("    <key>{}</key>\n{}", escaped(name), string(value)))
        .collect();
    // `sh` knows where the user's home is; a property list does not.
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Comment</key>
  <string>{MARK}</string>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>/bin/sh</string>
    <string>-c</string>
    <string>exec "$0" "$@" 2&gt;&gt;"$HOME/Library/Logs/switchboard.log"</string>
{program}{args}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>ExitTimeOut</key>
  <integer>20</integer>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"#
    )
}

/// Replaces an agent that is loaded already.
pub(super) fn start(file: &Path, user: u32) -> Vec<ManagerCommand> {
    let bootout = format!("launchctl bootout gui/{user}/{LABEL} 2>/dev/null; exit 0");
    let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        command(&["sh", "-c", &bootout]),
        command(&["launchctl", "bootstrap", &format!("gui/{user}"), &file.display().to_string()]),
    ]
}

pub(super) fn stop(user: u32) -> ManagerCommand {
    vec!["launchctl".to_owned(), "bootout".to_owned(), format!("gui/{user}/{LABEL}")]
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_names_program_config_and_path() {
        let service = Service {
            program: "/opt/a&b/switchboard".into(),
            args: ["serve", "--config", "/Users/u/x.toml"].map(str::to_owned).to_vec(),
            variables: vec![("PATH".to_owned(), "/opt/homebrew/bin:/usr/bin".to_owned())],
        };
        let plist = plist(&service);
        for part in [
            "<string>Written by `switchboard serve --install`",
            "    <string>/opt/a&amp;b/switchboard</string>\n    <string>serve</string>\n    <string>--config</string>\n    <string>/Users/u/x.toml</string>\n  </array>",
            "    <key>PATH</key>\n    <string>/opt/homebrew/bin:/usr/bin</string>",
        ] {
            assert!(plist.contains(part), "{part}\n{plist}");
        }
        // Every element that opens closes.
        for name in ["dict", "array", "string", "key", "plist", "integer"] {
            let count = |tag: String| plist.matches(&tag).count();
            let opened = count(format!("<{name}>")) + count(format!("<{name} "));
            assert_eq!(opened, count(format!("</{name}>")), "{name}\n{plist}");
        }
    }

    #[test]
    fn an_agent_is_replaced_and_removed_by_its_label() {
        let start = start(Path::new("/Users/u/Library/LaunchAgents/x.plist"), 501);
        assert!(start[0][2].contains("gui/501/switchboard.gateway"), "{start:?}");
        assert_eq!(start[1][1..3], ["bootstrap", "gui/501"]);
        assert_eq!(stop(501), ["launchctl", "bootout", "gui/501/switchboard.gateway"]);
    }
}
