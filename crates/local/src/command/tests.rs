use proptest::prelude::*;
use serde_json::json;
use switchboard_toolcall::ErrorKind;

use super::*;

fn parameters() -> Parameters {
    let names = ["a", "b", "path", "paths"].map(|name| (name.to_owned(), json!({})));
    let mut properties = serde_json::Map::from_iter(names);
    properties.insert("count".to_owned(), json!({"type": "integer"}));
    Parameters::of(&json!({"properties": properties}))
}

fn implementation(args: Value, dashes: &[&str]) -> Implementation {
    Implementation {
        args: args.as_array().unwrap().clone(),
        dashes: dashes.iter().map(|&name| name.to_owned()).collect(),
        ..Implementation::default()
    }
}

fn line(args: &Value, dashes: &[&str], given: Value) -> Result<Vec<String>, ToolError> {
    let implementation = implementation(args.clone(), dashes);
    let command = CommandTemplate::new(&implementation, "git", &parameters());
    let command = command.unwrap_or_else(|wrong| panic!("{}: {}", wrong.key, wrong.problem));
    command.line.fill("git", given.as_object().unwrap())
}

// TK-1: the example of the contract.
#[test]
fn an_element_whose_argument_was_left_out_is_left_out() {
    let args = json!(["log", ["-n", "{count}"], "--", "{path}"]);
    for (given, expected) in [
        (json!({"count": 3, "path": "src"}), &["log", "-n", "3", "--", "src"][..]),
        (json!({"path": "-src"}), &["log", "--", "-src"]),
        (json!({"count": 12345678901234567890_u64}), &["log", "-n", "12345678901234567890", "--"]),
        (json!({"count": null, "path": null}), &["log", "--"]),
        (json!({"path": ""}), &["log", "--", ""]),
        (json!({"path": {"x": [1.50, true]}}), &["log", "--", r#"{"x":[1.5,true]}"#]),
    ] {
        assert_eq!(line(&args, &[], given.clone()).unwrap(), expected, "{given}");
    }
}

// TK-1
#[test]
fn a_list_that_stands_alone_becomes_several_elements() {
    let args = json!(["add", ["--pathspec", "{paths}"], "all={paths}"]);
    let given = json!({"paths": ["a b", "c", 3]});
    let expected = ["add", "--pathspec", "a b", "c", "3", r#"all=["a b","c",3]"#];
    assert_eq!(line(&args, &[], given).unwrap(), expected);
    assert_eq!(line(&args, &[], json!({"paths": []})).unwrap(), ["add", "all=[]"]);
}

// TK-1
#[test]
fn a_value_that_could_be_an_option_is_refused() {
    let refused = |args: Value, dashes: &[&str], given: Value| {
        let error = line(&args, dashes, given).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters, "{args}");
        error.for_model
    };
    let text = "Invalid parameters: 'path' must not begin with '-': git could take it for an option (`dashes` in the \
                tool's definition allows it)";
    let option = json!({"path": "--output=/etc/passwd", "count": -5, "paths": ["x", "-rf"], "a": "", "b": "-x"});
    assert_eq!(refused(json!(["{path}"]), &[], option.clone()), text);
    for (args, dashes) in [
        (json!([["-n", "{count}"]]), &[][..]),
        (json!(["{paths}"]), &["path"]),
        // The end of options must come before, and be the config's own.
        (json!(["{path}", "--"]), &[]),
        (json!(["{b}", "{path}"]), &["b"]),
        (json!(["{a}{b}"]), &["a"]),
        (json!(["{path}x"]), &[]),
        // Behind a text of the config too: programs differ in what they make of it.
        (json!(["--file={path}"]), &["b"]),
    ] {
        refused(args, dashes, option.clone());
    }
    for (args, dashes) in [
        (json!(["--", "{path}", "{paths}"]), &[][..]),
        (json!([["--", "{path}"]]), &[]),
        (json!(["{path}"]), &["path"]),
        (json!(["--file={path}", "-n{count}", "x{b}"]), &["path", "count", "b"]),
    ] {
        line(&args, dashes, option.clone()).unwrap();
    }
    // A `--` that is left out does not end the options.
    let args = json!([["--", "{count}"], "{path}"]);
    refused(args, &[], json!({"path": "-x"}));
    // Nor is a value that says so.
    refused(json!(["{a}", "{path}"]), &["a"], json!({"a": "--", "path": "-x"}));
}

// TK-1
#[test]
fn nul_is_refused_wherever_a_program_would_be_cut_short() {
    let mut with_nul = implementation(json!(["x{path}"]), &[]);
    let check = |implementation: &Implementation| {
        let command = CommandTemplate::new(implementation, "git", &parameters());
        let command = command.unwrap_or_else(|wrong| panic!("{}", wrong.problem));
        let given = json!({"path": "a\0b"});
        let error = command.prepare(given.as_object().unwrap(), &Handlers::new()).err().unwrap();
        assert_eq!(error.for_model, "Invalid parameters: 'path' must not contain a NUL character");
    };
    check(&with_nul);
    with_nul.args.clear();
    with_nul.cwd = Some("{path}".to_owned());
    check(&with_nul);
    with_nul.cwd = None;
    with_nul.env.insert("X".to_owned(), "{path}".to_owned());
    check(&with_nul);
}

// TK-1
#[test]
fn what_cannot_be_used_is_named() {
    let wrong = |program: &str, change: &dyn Fn(&mut Implementation)| {
        let mut implementation = Implementation::default();
        change(&mut implementation);
        let wrong = CommandTemplate::new(&implementation, program, &parameters()).err().unwrap();
        format!("{}: {}", wrong.key, wrong.problem)
    };
    let args = |args: Value| {
        wrong("git", &move |implementation| implementation.args = args.as_array().unwrap().clone())
    };
    assert!(
        args(json!(["x", "{coutn}"])).starts_with("args[1]: `{coutn}` stands for no parameter")
    );
    assert!(args(json!([["-n", "{coutn}"]])).starts_with("args[0][1]: "));
    let texts = "expected a text, or a list of texts that belong together";
    assert_eq!(args(json!([5])), format!("args[0]: {texts}"));
    assert_eq!(args(json!([["a", ["b"]]])), format!("args[0][1]: {texts}"));
    assert_eq!(args(json!(["\0"])), "args[0]: no program can be given a NUL character");
    for program in ["{path}", "/bin/{paths}", "{unknown}"] {
        assert!(wrong(program, &|_| {}).starts_with("program: no `{name}` may stand here"));
    }
    assert_eq!(wrong("", &|_| {}), "program: it is empty");
    let dashes = wrong("git", &|it| it.dashes = vec!["pat".to_owned()]);
    assert_eq!(dashes, "dashes: `pat` is not a parameter; did you mean `path`?");
    let stdin = wrong("git", &|it| it.stdin = Some("{texts}".to_owned()));
    assert!(stdin.starts_with("stdin: "), "{stdin}");
    let env = wrong("git", &|it| drop(it.env.insert("A=B".to_owned(), String::new())));
    assert_eq!(env, "env: `A=B` is not a valid variable name");
}

// TK-1: never through a shell.
#[test]
fn no_value_stands_in_a_shells_script() {
    for (program, args, is_refused) in [
        ("sh", json!(["-c", "echo {path}"]), true),
        ("/usr/bin/bash", json!(["-euc", "echo '{path}'"]), true),
        ("sh", json!([["-c", "{path}"]]), true),
        ("sh", json!(["-c", "sleep {count}; echo {path}"]), true),
        ("sh", json!(["-c", "sleep {count}"]), false),
        ("sh", json!(["-c", "echo \"$1\"", "sh", "{path}"]), false),
        ("sh", json!(["script.sh", "{path}"]), false),
        ("grep", json!(["-c", "{path}"]), false),
    ] {
        let command =
            CommandTemplate::new(&implementation(args.clone(), &[]), program, &parameters());
        assert_eq!(command.is_err(), is_refused, "{program} {args}");
    }
}

proptest! {
    // TK-1: a value is its own element, or part of the one it stands in, whatever it holds.
    #[test]
    fn a_value_never_becomes_anything_but_its_own_element(
        value in prop_oneof![any::<String>(), "[-$`;|&<>(){}\"' \\n\\\\*?~#!a{}]{0,12}"]
    ) {
        let args = json!(["log", "{path}", "x={path}", ["-n", "{path}"], "--", "{path}", "end"]);
        match line(&args, &[], json!({"path": value})) {
            Ok(line) => {
                let inner = format!("x={value}");
                let expected = ["log", &value, &inner, "-n", &value, "--", &value, "end"];
                prop_assert_eq!(line, expected);
            }
            Err(error) => {
                prop_assert_eq!(error.kind, ErrorKind::InvalidParameters);
                prop_assert!(value.starts_with('-') || value.contains('\0'), "{:?}", value);
            }
        }
    }
}
