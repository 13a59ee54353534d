//! A lock that cannot be used, and commands that are interrupted (LK-1, LK-2).

use std::{fs, process::Command};

use super::{Library, tools};
use crate::{fixture::wait_until, test_folder::CommandOutput};

// LK-2: with a lock that cannot be read nothing is offered.
#[test]
fn a_broken_lock_fails_closed_and_names_its_line() {
    let library = Library::locked(&["books"], "");
    let broken = library.lock().replace("[servers.books]\n", "[servers.books]\n=======\n");
    fs::write(library.lock_file(), &broken).unwrap();
    let line = broken.lines().position(|line| line == "=======").unwrap() + 1;
    let place = format!("switchboard.lock:{line}: ");
    let commands: &[&[&str]] = &[
        &["tools"],
        &["call", "books__read_file", "path=x"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["lock"],
        &["lock", "--check"],
        &["lock", "--update", "books"],
        &["trust", "books", "--yes"],
    ];
    for words in commands {
        let ran = library.run(words);
        assert_ne!(ran.status, 0, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(&place), "{words:?}: {ran:?}");
    }
    let doctor = library.run(&["doctor"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    assert!(doctor.stdout.contains(&place), "{doctor:?}");
    assert_eq!(fs::read_to_string(library.lock_file()).unwrap(), broken);
    // Whoever wants no lock needs no file.
    let file = library.place.path().join("switchboard.toml");
    let config = fs::read_to_string(&file).unwrap() + "[lock]\nmode = \"off\"\n";
    fs::write(&file, config).unwrap();
    assert_eq!(library.run(&["call", "books__read_file", "path=x"]).status, 0);
}

#[test]
fn comments_of_people_stay() {
    let library = Library::locked(&["books"], "");
    let with = library.lock().replace("\n[servers.books]\n", "\n# read by Ada\n[servers.books]\n");
    fs::write(library.lock_file(), with).unwrap();
    let mut more = tools();
    more[1]["description"] = "Lists.".into();
    library.says("books", "tools", &more);
    assert_eq!(library.run(&["trust", "books", "--yes"]).status, 0);
    assert!(library.lock().contains("\n# read by Ada\n[servers.books]\n"), "{}", library.lock());
}

#[test]
fn an_interrupted_lock_writes_nothing() {
    let slow = "[servers.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"touch began; sleep 60\"]\n";
    let library = Library::new(&["books"], slow);
    let child = library.place.command(&["lock"]).spawn().unwrap();
    wait_until("it asks", || library.place.path().join("began").exists());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (1, "error: interrupted\n"), "{ran:?}");
    assert!(!library.lock_file().exists());
    let left: Vec<_> = fs::read_dir(library.place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !left.iter().any(|name| name.to_string_lossy().contains(".switchboard.lock")),
        "{left:?}"
    );
}

#[test]
fn without_a_config_there_is_nothing_to_lock() {
    let place = crate::test_folder::TestFolder::new();
    let says = place.refusal(&["lock"]);
    assert!(says.contains("there is no config, so there are no servers to lock"), "{says}");
    let library = Library::new(&["books"], "");
    let says = library.place.refusal(&["lock", "--update", "bocks"]);
    assert!(
        says.contains("there is no server `bocks` in the config; did you mean `books`?"),
        "{says}"
    );
    let says = library.place.refusal(&["lock", "--check", "--update", "books"]);
    assert!(says.contains("cannot be used with"), "{says}");
}
