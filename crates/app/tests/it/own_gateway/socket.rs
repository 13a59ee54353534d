//! Whose the socket is, and what becomes of commands when the gateway is killed, upgraded, started twice, or another user's.

use std::{
    env, fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown, symlink},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{place, serve, socket, starts};
use crate::{
    fixture::wait_until,
    pty,
    serving::Serving,
    test_folder::{CommandOutput, TestFolder},
};

const NOBODY: u32 = 65_534;

/// What the log says of why the gateway is not used; the call succeeds all the same.
fn reason(place: &TestFolder) -> String {
    let mut command = place.command(&["call", "math_eval", "expression=2+2"]);
    command.env("RUST_LOG", "debug");
    let ran = CommandOutput::of(command.output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "{\"result\":4}\n"), "{ran:?}");
    let line = ran.stderr.lines().find(|line| line.contains("the running gateway is not used"));
    line.unwrap_or_default().to_owned()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a test of this program again, as root in a namespace that has users of its own.
fn as_root_of_a_namespace(test: &str) {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--map-auto"]);
    command.arg(env::current_exe().unwrap()).args(["--exact", test]);
    let ran = CommandOutput::of(command.output().unwrap());
    let needs = "run it as root, or with `newuidmap` and a range of users in /etc/subuid";
    assert!(ran.status == 0 && ran.stdout.contains("1 passed"), "{needs}: {ran:?}");
}

// GW-1
#[test]
fn of_two_that_start_at_once_one_serves_and_the_other_names_it() {
    for _ in 0..3 {
        let place = place("");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("127.0.0.1:{port}");
        let start = || {
            let mut command = place.command(&["serve", "--listen", &listen]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let (mut first, mut second) = (start(), start());
        let first_ended = loop {
            match (first.try_wait().unwrap(), second.try_wait().unwrap()) {
                (Some(_), _) => break true,
                (_, Some(_)) => break false,
                (None, None) => thread::sleep(Duration::from_millis(10)),
            }
        };
        let (mut serving, ended) = if first_ended { (second, first) } else { (first, second) };
        let ran = CommandOutput::of(ended.wait_with_output().unwrap());
        assert_eq!(ran.status, 2, "{ran:?}");
        let named = format!(
            "a Switchboard of yours is running already at http://{listen} (pid {}); cannot listen on {listen}",
            serving.id()
        );
        assert!(ran.stderr.contains(&named), "{named}\n{ran:?}");
        assert!(socket(&place).exists());
        assert_eq!(place.run(&["servers"]).status, 0);
        assert_eq!(reason(&place), "", "the one that serves has the socket too");
        end(&mut serving);
    }
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

// GW-1
#[test]
fn without_a_runtime_folder_the_socket_has_another_place() {
    let place = place("").variable("XDG_RUNTIME_DIR", "");
    let _serving = serve(&place);
    place.call(&["s__echo"]);
    assert_eq!(starts(&place), 1, "the call started no server of its own");
    assert_eq!(reason(&place), "");
    // With nowhere to put it, the gateway serves all the same.
    if !fs::exists(format!("/run/user/{}", rustix::process::geteuid().as_raw())).unwrap() {
        assert_eq!(
            fs::metadata(place.path().join("state/switchboard/run")).unwrap().permissions().mode()
                & 0o777,
            0o700
        );
        let place = super::place("").homeless().variable("XDG_RUNTIME_DIR", "");
        let _serving = serve(&place);
        let log = fs::read_to_string(place.path().join("log")).unwrap();
        assert!(log.contains("set XDG_RUNTIME_DIR, XDG_STATE_HOME or HOME"), "{log}");
    }
}

// GW-2
#[test]
fn a_link_in_the_place_of_the_folder_or_the_socket_is_refused() {
    let place = place("");
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
    let folder = place.runtime().join("switchboard");
    symlink(&elsewhere, &folder).unwrap();
    let serving = serve(&place);
    let log = fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("there is no socket") && log.contains("is a symbolic link"), "{log}");
    assert!(reason(&place).contains("is a symbolic link"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written behind it");
    drop(serving);

    fs::remove_file(&folder).unwrap();
    let serving = serve(&place);
    let (socket, moved) = (socket(&place), elsewhere.join("moved.sock"));
    fs::rename(&socket, &moved).unwrap();
    symlink(&moved, &socket).unwrap();
    assert!(reason(&place).contains("is not a socket of this user"));
    drop(serving);
}

// GW-2
#[test]
fn another_users_folder_and_gateway_are_not_used() {
    if !is_root() {
        // Only root can give a folder away.
        return as_root_of_a_namespace(
            "own_gateway::socket::another_users_folder_and_gateway_are_not_used",
        );
    }
    let place = place("");
    let serving = serve(&place);
    place.call(&["s__echo"]);
    let before = starts(&place);

    // The other user has no way to the socket, and runs alone.
    for folder in [place.path(), place.runtime()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_switchboard")).args(["call", "s__add", "a=1", "b=2"]);
    command.current_dir(place.path()).env_clear().env("PATH", "/usr/bin:/bin");
    command.envs(place.variables()).env("XDG_STATE_HOME", place.path().join("of-nobody"));
    fs::set_permissions(place.path().join("starts"), fs::Permissions::from_mode(0o666)).unwrap();
    let ran = CommandOutput::of(command.output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "3\n"), "{ran:?}");
    assert_eq!(starts(&place), before + 1, "it started a server of its own");

    let folder = place.runtime().join("switchboard");
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let said = reason(&place);
    assert!(said.contains("belongs to user 65534, and this is user 0"), "{said}");
    let _second = serve(&place);
    let log = fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("there is no socket") && log.contains("belongs to user 65534"), "{log}");
    drop(serving);
}

// GW-1
#[test]
fn a_killed_gateway_is_named_as_such() {
    let place = place("");
    let mut serving = serve(&place);
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    assert!(reason(&place).contains("it was killed; `switchboard serve` starts it again"));
    let shown = pty::run_without_keyboard(place.command(&["call", "math_eval", "expression=2+2"]));
    assert!(shown.text.contains("the running gateway is not used: it was killed"), "{shown:?}");
    let stopped = place.run(&["restart", "s"]);
    assert_eq!(stopped.status, 1);
    assert!(stopped.stderr.contains("it was killed; `switchboard serve` starts"), "{stopped:?}");
}

// GW-1, MC-7
#[test]
fn a_gateway_whose_program_was_replaced_goes_on_and_starts_servers() {
    let place = place("");
    let program = place.path().join("switchboard");
    fs::copy(env!("CARGO_BIN_EXE_switchboard"), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["serve", "--json", "--listen", "127.0.0.1:0"]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/bin:/bin").envs(place.variables());
    let _serving = Serving::spawn(&place, command);
    wait_until("its server is there", || {
        let listed: Value =
            serde_json::from_str(&place.run(&["servers", "--json"]).stdout).unwrap();
        listed[0]["state"] == "ready"
    });
    // As an upgrade does: another file under the same name.
    let new = place.path().join("new");
    fs::write(&new, "#!/bin/sh\nexit 99\n").unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&new, &program).unwrap();
    let before = starts(&place);
    assert_eq!(place.run(&["restart", "s"]).status, 0);
    let called = place.call(&["s__add", "a=1", "b=2"]);
    assert_eq!(called["success"], true, "{called}");
    assert_eq!(starts(&place), before + 1);
}
