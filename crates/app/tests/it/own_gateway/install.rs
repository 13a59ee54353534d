//! `serve --install`: the unit that is written, what systemd is told, and what is left alone.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use super::serve;
use crate::test_folder::{CommandOutput, TestFolder};

/// A `systemctl` that writes down what it is told, and does what `answer` says.
fn place(answer: &str) -> TestFolder {
    let place = TestFolder::with_config("# ${KEY}\n")
        .file("bin/systemctl", format!("#!/bin/sh\necho \"$*\" >> \"{{}}\"\n{answer}\n"));
    let program = place.path().join("bin/systemctl");
    let told = place.path().join("told").display().to_string();
    let script = fs::read_to_string(&program).unwrap().replace("{}", &told);
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (bin, home) = (place.path().join("bin"), place.path().join("my home"));
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let home = home.display().to_string();
    place.variable("PATH", &path).variable("HOME", &home)
}

fn unit(place: &TestFolder) -> PathBuf {
    place.path().join("my home/.config/systemd/user/switchboard.service")
}

/// What systemctl was told, since the last time.
fn told(place: &TestFolder) -> Vec<String> {
    let file = place.path().join("told");
    let told = fs::read_to_string(&file).unwrap_or_default();
    _ = fs::remove_file(&file);
    told.lines().map(str::to_owned).collect()
}

fn run(place: &TestFolder, words: &[&str]) -> CommandOutput {
    place.run(&[&["serve"], words].concat())
}

#[test]
fn a_unit_is_written_shown_started_and_removed() {
    let place = place("");
    let ran = run(&place, &["--install", "--port", "7399"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = fs::read_to_string(unit(&place)).unwrap();
    assert_eq!(ran.stdout.trim_end(), text.trim_end(), "what is written is shown");
    let config = fs::canonicalize(place.path().join("switchboard.toml")).unwrap();
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_switchboard")).unwrap();
    let start = format!(
        "ExecStart={} serve --listen 127.0.0.1:7399 --config {}",
        program.display(),
        config.display()
    );
    assert!(text.contains(&start), "{start}\n{text}");
    assert!(text.contains("Environment=PATH=") && text.contains("Environment=XDG_STATE_HOME="));
    assert!(ran.stderr.contains("secrets.env"), "variables of the shell are missing: {ran:?}");
    assert!(ran.stderr.contains("started; it starts again at each login"), "{ran:?}");
    let start = [
        "--user show --property=Version",
        "--user daemon-reload",
        "--user enable switchboard.service",
        "--user restart switchboard.service",
    ];
    assert_eq!(told(&place), start);

    let again = run(&place, &["--install", "--port", "7399"]);
    assert_eq!(again.status, 0, "{again:?}");
    assert!(again.stderr.contains("is like that already"), "{again:?}");
    let other = run(&place, &["--install"]);
    assert!(other.stderr.contains("written to"), "{other:?}");
    assert!(!fs::read_to_string(unit(&place)).unwrap().contains("7399"));
    told(&place);

    let removed = run(&place, &["--uninstall"]);
    assert_eq!(removed.status, 0, "{removed:?}");
    assert!(!unit(&place).exists());
    assert_eq!(
        told(&place)[1..],
        ["--user disable --now switchboard.service", "--user daemon-reload"]
    );
    let nothing = run(&place, &["--uninstall"]);
    assert_eq!(nothing.status, 0, "{nothing:?}");
    assert!(nothing.stderr.contains("there is no service"), "{nothing:?}");
    assert_eq!(told(&place), [""; 0]);
}

#[test]
fn without_systemd_it_is_said_what_to_run() {
    let place = place("echo 'Failed to connect to bus' >&2; exit 1");
    let ran = run(&place, &["--install"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(unit(&place).exists());
    assert!(ran.stderr.contains("Failed to connect to bus"), "{ran:?}");
    let by_hand = "systemctl --user daemon-reload && systemctl --user enable switchboard.service && systemctl --user restart switchboard.service";
    assert!(ran.stderr.contains(by_hand), "{ran:?}");
    assert_eq!(run(&place, &["--uninstall"]).status, 0);
    assert!(!unit(&place).exists());
    // Nor is there any systemctl.
    fs::remove_file(place.path().join("bin/systemctl")).unwrap();
    let path = place.path().join("bin").display().to_string();
    let place = place.variable("PATH", &path);
    let ran = run(&place, &["--install"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.contains("`systemctl` cannot be started"), "{ran:?}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let place = place("");
    let file = unit(&place);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "[Service]\nExecStart=/bin/true\n").unwrap();
    for words in [&["--install"], &["--uninstall"]] {
        let ran = run(&place, words);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.contains("was not written by Switchboard"), "{ran:?}");
        assert!(ran.stderr.contains("move it away"), "{ran:?}");
    }
    assert!(fs::read_to_string(&file).unwrap().contains("/bin/true"));
    assert_eq!(told(&place), [""; 0]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(run(&place, &["--install"]).status, 2);
}

#[test]
fn a_service_that_does_not_start_is_an_error() {
    let place = place("case \"$*\" in *restart*) echo 'Job failed' >&2; exit 1;; esac");
    let ran = run(&place, &["--install"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("not started") && ran.stderr.contains("Job failed"), "{ran:?}");
    assert!(ran.stderr.contains("journalctl --user --unit switchboard"), "{ran:?}");
    let stuck = place.file(
        "bin/systemctl",
        "#!/bin/sh\ncase \"$*\" in *disable*) echo 'no' >&2; exit 1;; esac\n",
    );
    let ran = run(&stuck, &["--uninstall"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(unit(&stuck).exists(), "it is not forgotten while it runs");
}

#[test]
fn a_gateway_that_runs_already_is_named() {
    let place = place("");
    let serving = serve(&place);
    let ran = run(&place, &["--install"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let named =
        format!("running already at http://{} (pid {})", serving.address, serving.child.id());
    assert!(ran.stderr.contains(&named) && ran.stderr.contains("stop it, then run"), "{ran:?}");
    // Unless it is the service itself.
    let pid = serving.child.id();
    let place = place
        .file("bin/systemctl", format!("#!/bin/sh\ncase \"$*\" in *MainPID*) echo {pid};; esac\n"));
    assert_eq!(run(&place, &["--install"]).status, 0);
}
