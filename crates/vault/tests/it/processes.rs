//! Several processes: this test program starts itself as the others.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::vault;

/// Tells a child where the vault is, what to call its secrets, and how many to write.
const CHILD: [&str; 3] = ["VAULT_TEST_FOLDER", "VAULT_TEST_NAME", "VAULT_TEST_COUNT"];

/// What the other processes run; does nothing in the test program itself.
#[test]
fn the_other_process() {
    let [Some(folder), Some(name), Some(count)] = CHILD.map(env::var_os) else { return };
    let vault = vault(&PathBuf::from(folder));
    let (name, count) =
        (name.into_string().unwrap(), count.to_str().unwrap().parse::<u32>().unwrap());
    for number in 0..count {
        let value = format!("{number:04}").repeat(1000);
        vault.set("secret", &format!("{name}-{}", number % 8), value.as_str().into()).unwrap();
        if number % 16 == 7 {
            vault.rotate(None).unwrap();
        }
    }
}

fn other(folder: &Path, name: &str, count: u32) -> Child {
    let values = [folder.display().to_string(), name.to_owned(), count.to_string()];
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .envs(CHILD.into_iter().zip(values))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

// AU-2
#[test]
fn what_several_processes_write_at_once_is_all_there() {
    let place = tempfile::tempdir().unwrap();
    let others: Vec<_> = ["a", "b", "c"].map(|name| other(place.path(), name, 24)).into();
    for mut child in others {
        assert!(child.wait().unwrap().success());
    }
    let names = vault(place.path()).names("secret").unwrap();
    assert_eq!(names.len(), 3 * 8, "{names:?}");
}

// AU-2: killed at whatever point, the vault opens, and each secret is one that was written whole.
#[test]
fn a_process_that_is_killed_leaves_a_vault_that_opens() {
    let place = tempfile::tempdir().unwrap();
    let here = vault(place.path());
    here.set("secret", "mine", "kept".into()).unwrap();
    for round in 0..20 {
        let mut child = other(place.path(), "killed", u32::MAX);
        // Different points of its writes; what is tested holds at each of them.
        thread::sleep(Duration::from_millis(10 + 3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(here.get("secret", "mine").unwrap().unwrap().expose(), "kept");
        for name in here.names("secret").unwrap().iter().filter(|name| name.starts_with("killed")) {
            let value = here.get("secret", name).unwrap().unwrap();
            assert_eq!(value.expose().len(), 4000, "{name}");
            assert_eq!(value.expose(), value.expose()[..4].repeat(1000));
        }
        here.set("secret", "after", format!("{round}").into()).unwrap();
    }
}

// AU-1: one lock per name, between processes as between threads.
#[test]
fn a_named_lock_is_held_by_one_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let here = vault(place.path());
    let held = here.lock("linear").unwrap();
    let (started, other) = std::sync::mpsc::channel();
    let (there, folder) = (here.clone(), place.path().to_owned());
    let waiting = thread::spawn(move || {
        let _another = there.lock("sentry").unwrap();
        started.send("another name is free").unwrap();
        let _same = vault(&folder).lock("linear").unwrap();
        started.send("got it").unwrap();
    });
    assert_eq!(other.recv().unwrap(), "another name is free");
    assert!(other.recv_timeout(Duration::from_millis(50)).is_err());
    drop(held);
    assert_eq!(other.recv().unwrap(), "got it");
    waiting.join().unwrap();
}
