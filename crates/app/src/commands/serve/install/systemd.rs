//! A user unit of systemd.

use super::{MARK, ManagerCommand, Service, run, words};

pub(super) const UNIT: &str = "switchboard.service";

/// The text of the unit. It has no sandbox options that would break servers: they read and write the user's files, create
/// namespaces (browsers) and compile code while they run (Node).
pub(super) fn unit(Service { program, args, variables }: &Service) -> String {
    let mut command = vec![quoted(&program.display().to_string(), true)];
    command.extend(args.iter().map(|word| quoted(word, true)));
    let variables = variables.iter().map(|(name, value)| {
        format!("Environment={}\n", quoted(&format!("{name}={value}"), false))
    });
    format!(
        "# {MARK}
[Unit]
Description=Switchboard, the gateway to the tools of AI models
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{variables}Restart=on-failure
RestartSec=2
KillMode=mixed
TimeoutStopSec=20
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
",
        command = command.join(" "),
        variables = variables.collect::<String>(),
    )
}

pub(super) fn start() -> Vec<ManagerCommand> {
    vec![
        words("systemctl --user daemon-reload"),
        words(&format!("systemctl --user enable {UNIT}")),
        // A service that runs with the old file is restarted.
        words(&format!("systemctl --user restart {UNIT}")),
    ]
}

/// The process of the unit, if it runs.
pub(super) fn main_pid() -> Option<u32> {
    let shown = run(&words(&format!("systemctl --user show --property=MainPID --value {UNIT}")));
    shown.ok()?.trim().parse().ok()
}

/// A word as systemd reads it. In a command, `$` begins a variable, too.
fn quoted(word: &str, in_command: bool) -> String {
    let mut quoted = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '%' => quoted.push_str("%%"),
            '$' if in_command => quoted.push_str("$$"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => quoted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        for (word, in_command, expected) in [
            ("/usr/bin/switchboard", true, "/usr/bin/switchboard"),
            ("", true, r#""""#),
            ("/home/a b/x.toml", true, r#""/home/a b/x.toml""#),
            (r#"50% "of" \$HOME"#, true, r#""50%% \"of\" \\$$HOME""#),
            ("PATH=/opt/$x bin", false, r#""PATH=/opt/$x bin""#),
            ("a\nb", false, r#""a\nb""#),
        ] {
            assert_eq!(quoted(word, in_command), expected);
        }
    }

    #[test]
    fn the_unit_names_program_config_and_path() {
        let service = Service {
            program: "/opt/my tools/switchboard".into(),
            args: ["serve", "--config", "/home/u/switchboard.toml"].map(str::to_owned).to_vec(),
            variables: vec![("PATH".to_owned(), "/home/u/.local/bin:/usr/bin".to_owned())],
        };
        let unit = unit(&service);
        assert!(unit.starts_with("# Written by `switchboard serve --install`"), "{unit}");
        for line in [
            r#"ExecStart="/opt/my tools/switchboard" serve --config /home/u/switchboard.toml"#,
            "Environment=PATH=/home/u/.local/bin:/usr/bin",
            "NoNewPrivileges=yes",
            "WantedBy=default.target",
        ] {
            assert!(unit.lines().any(|is| is == line), "{line}\n{unit}");
        }
    }
}
