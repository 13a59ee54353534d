//! MC-7: what is left when Switchboard is killed with -9.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::support::{Directory, example, number_in, running, until};

/// A process that has started the misbehaving server as Switchboard would.
fn parent(modes: &str) -> Child {
    let mut command = Command::new(example("stdio_parent"));
    command.arg(example("guard")).arg(example("misbehaving_server")).arg(modes);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills the parent with -9 once the server runs; the server and its children must follow.
async fn killed(test: &str, modes: &str) {
    let directory = Directory::new(test);
    let file = directory.file("pid");
    let mut parent = parent(&format!("{modes},spawns-grandchild={}", file.display()));
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let group: u32 = line.trim().parse().unwrap();
    let grandchild = number_in(&file).await;
    let members = running(group);
    assert!(members.contains(&group) && members.contains(&grandchild), "{members:?}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the group is gone", || running(group).is_empty()).await;
}

// MC-7: kill -9 of Switchboard included, stubborn grandchildren too.
#[tokio::test]
async fn a_polite_server_ends_with_us() {
    killed("killed-polite", "").await;
}

// MC-7
#[tokio::test]
async fn a_stubborn_server_ends_with_us() {
    killed("killed-stubborn", "ignores-stdin-end,ignores-sigterm").await;
}

// MC-7: nor does a server live that does not even look at its pipes.
#[tokio::test]
async fn a_deaf_server_ends_with_us() {
    killed("killed-deaf", "reads-when=/nonexistent,ignores-sigterm").await;
}

// MC-7: killed at any moment of the start, also before the guard has started anything.
#[tokio::test]
async fn killed_while_starting() {
    let directory = Directory::new("killed-starting");
    for step in 0..20 {
        let file = directory.file(&step.to_string());
        let modes = format!("ignores-stdin-end,spawns-grandchild={}", file.display());
        let mut parent = parent(&modes);
        tokio::time::sleep(Duration::from_micros(step * 500)).await;
        parent.kill().unwrap();
        parent.wait().unwrap();
    }
    // Their files name the servers and grandchildren: nothing else has them in its arguments.
    let files = directory.file("");
    until("the servers are gone", || with_argument(files.to_str().unwrap()).is_empty()).await;
}

/// The processes that were started with the text among their arguments.
fn with_argument(text: &str) -> Vec<u32> {
    let has = |pid: u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    };
    let running = super::support::processes().into_iter().filter(|process| process.state != 'Z');
    running.map(|process| process.pid).filter(|pid| has(*pid)).collect()
}
