//! `command` tools with git and jq (TK-1).

use std::{path::Path, process::Command};

use switchboard_local::{Handlers, ToolDefinition};
use switchboard_toolcall::{
    CallContext, ErrorKind, ToolError, ToolOutput,
    serde_json::{Value, json},
};

async fn call(implementation: &str, args: Value) -> Result<ToolOutput, ToolError> {
    let definition = format!(
        "name = 'tried'\ndescription = 'd'\nimplementation = {implementation}\n[parameters]\n\
         properties = {{ count = {{}}, path = {{}}, text = {{}} }}"
    );
    let definition: ToolDefinition = toml::from_str(&definition).unwrap();
    definition.into_tool(&Handlers::new()).unwrap().call(args, &CallContext::default()).await
}

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(args);
    assert!(git.current_dir(folder).status().unwrap().success(), "{args:?}");
}

// TK-1: the example of the contract.
#[tokio::test]
async fn git_tells_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("repository");
    std::fs::create_dir(&inside).unwrap();
    git(&inside, &["init", "-q"]);
    for (file, message) in [("a", "first"), ("-b", "second"), ("a", "third $(id)")] {
        std::fs::write(inside.join(file), message).unwrap();
        git(&inside, &["add", "--", file]);
        git(&inside, &["commit", "-q", "-m", message]);
    }
    let log = format!(
        "{{ type = 'command', program = 'git', args = ['log', '--format=%s', ['-n', '{{count}}'], '--', '{{path}}'], cwd = '{}' }}",
        inside.display()
    );
    for (args, expected) in [
        (json!({}), "third $(id)\nsecond\nfirst"),
        (json!({"count": 1}), "third $(id)"),
        (json!({"path": "-b"}), "second"),
        (json!({"path": "a", "count": 2}), "third $(id)\nfirst"),
        (json!({"path": "--output=/tmp/never"}), ""),
    ] {
        assert_eq!(call(&log, args.clone()).await.unwrap().text(), expected, "{args}");
    }
    let error = call(&log, json!({"count": "-1 --all"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidParameters);
    let error = call(&log, json!({"count": "many"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert!(
        error.for_model.starts_with("git exited with status 128\nfatal: "),
        "{}",
        error.for_model
    );
}

// TK-1, RS-3
#[tokio::test]
async fn jq_takes_and_gives_json() {
    let jq = "{ type = 'command', program = 'jq', args = ['{sum: (.a + .b)}'], stdin = '{text}', output = 'json' }";
    let sum = call(jq, json!({"text": {"a": 1, "b": 2}})).await.unwrap();
    assert_eq!(sum.text(), r#"{"sum":3}"#);
    let error = call(jq, json!({"text": "{"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert!(error.for_model.starts_with("jq exited with status "), "{}", error.for_model);
    // Several values are no JSON of one.
    let error =
        call(&jq.replace("{sum: (.a + .b)}", ".a, .b"), json!({"text": {"a": 1, "b": 2}})).await;
    assert!(
        error
            .unwrap_err()
            .for_model
            .contains("jq wrote no JSON: trailing characters at line 2 column 1")
    );
}
