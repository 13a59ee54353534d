//! `PyPI`'s `mcp-server-git`, on a repository that the real git made.

use std::process::Command;

use serde_json::json;
use switchboard_mcp_wire::Era;

use crate::{
    parts::{Folder, pypi},
    test_servers::TestServers,
};

fn git(folder: &Folder, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut command = Command::new("git");
    command.current_dir(folder.path()).args(identity).args(args);
    let output = command.output().expect("git is installed");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

// MC-1, MC-7
#[tokio::test]
async fn git_sees_and_changes_the_repository() {
    let folder = Folder::new();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    folder.write("a.txt", "one\n");
    git(&folder, &["add", "a.txt"]);
    git(&folder, &["commit", "--quiet", "--message=The first commit"]);
    folder.write("b.txt", "two\n");

    let test = TestServers::of(pypi("mcp-python", "mcp-server-git", &["-r", folder.text()])).await;
    assert_eq!(test.era("s"), Era::Modern);
    let repository = json!({"repo_path": folder.text()});
    let status = test.call("s__git_status", repository.clone()).await;
    assert!(status.to_string().contains("b.txt"), "{status}");
    let log = test.call("s__git_log", repository).await;
    assert!(log.to_string().contains("The first commit"), "{log}");

    test.call("s__git_add", json!({"repo_path": folder.text(), "files": ["b.txt"]})).await;
    assert_eq!(git(&folder, &["diff", "--cached", "--name-only"]), "b.txt\n");
    let staged = test.call("s__git_diff_staged", json!({"repo_path": folder.text()})).await;
    assert!(staged.to_string().contains("+two"), "{staged}");
    test.close().await;
}
