//! `command` tools with programs that every machine has (TK-1).

use switchboard_toolcall::{
    ErrorKind,
    serde_json::{Value, json},
};

use crate::defined::{answer, binary, failure, output};

// TK-1
#[tokio::test]
async fn what_a_program_writes_is_the_result() {
    for (implementation, expected) in [
        (
            "{ type = 'command', program = 'printf', args = ['%s|', '{text}', 'b c', '{count}', 'end'] }",
            "a\"$(id)`|b c|end|",
        ),
        ("{ type = 'command', program = 'cat', stdin = '<{text}>' }", "<a\"$(id)`>"),
        // One final newline is removed, and only one.
        ("{ type = 'command', program = 'printf', args = ['a\\n\\n'] }", "a\n"),
        ("{ type = 'command', program = 'true' }", ""),
        ("{ type = 'command', program = 'pwd', cwd = '/' }", "/"),
        (
            "{ type = 'command', program = 'sh', args = ['-c', 'echo \"$GIVEN\"'], env = { GIVEN = 'x{text}' } }",
            "xa\"$(id)`",
        ),
        (
            "{ type = 'command', program = 'sh', args = ['-c', 'echo \"${GIVEN:-unset}\"'], env = { GIVEN = '{count}' } }",
            "unset",
        ),
        // What is not UTF-8 is marked, and makes nothing of it a file.
        ("{ type = 'command', program = 'printf', args = ['a\\377b'] }", "a\u{fffd}b"),
        // The program's own input is empty, not ours.
        ("{ type = 'command', program = 'cat' }", ""),
        ("{ type = 'command', program = 'cat', stdin = '{count}' }", ""),
    ] {
        assert_eq!(
            answer(implementation, json!({"text": "a\"$(id)`"})).await,
            expected,
            "{implementation}"
        );
    }
}

// TK-1: every text, newlines and shell syntax included, arrives as it is.
#[tokio::test]
async fn any_text_arrives_as_it_is() {
    let echo = "{ type = 'command', program = 'printf', args = ['%s', '--', '{text}'] }";
    let echo = &echo.replace("'%s', '--', ", "'--', '%s', ");
    for text in [
        "",
        " ",
        "a b",
        "$(id)",
        "`id`",
        "; id",
        "| id",
        "&& id",
        "> /tmp/x",
        "'; id #",
        "\" \\\" \\",
        "*",
        "~",
        "{text}",
        "two\nlines\n",
        "-rf",
        "--help",
        "é\u{1f600}\u{202e}",
        "\r\n",
        "%s%n",
        "\u{1b}[31m",
    ] {
        let expected = text.strip_suffix('\n').unwrap_or(text);
        assert_eq!(answer(echo, json!({"text": text})).await, expected, "{text:?}");
    }
}

// TK-1, RS-3
#[tokio::test]
async fn json_is_parsed_and_keeps_its_digits() {
    let cat = "{ type = 'command', program = 'cat', stdin = '{text}', output = 'json' }";
    let read = |text: &str| output(cat, json!({"text": text}));
    let value = read("{\"n\": 12345678901234567890.10}\n").await.unwrap();
    assert_eq!(value.text(), r#"{"n":12345678901234567890.10}"#);
    let (kind, text) = failure(cat, json!({"text": "[1,\n 2"})).await;
    assert_eq!(kind, ErrorKind::ToolError);
    assert_eq!(
        text,
        "cat wrote no JSON: EOF while parsing a list at line 2 column 2; it wrote: [1, 2"
    );
    let (_, text) = failure(cat, json!({})).await;
    assert_eq!(
        text,
        "cat wrote no JSON: EOF while parsing a value at line 1 column 0; it wrote nothing"
    );
}

// TK-1
#[tokio::test]
async fn a_status_is_told_with_the_last_lines() {
    let sh = |script: &str| {
        format!("{{ type = 'command', program = 'sh', args = ['-c', '''{script}'''] }}")
    };
    for (script, expected) in [
        (
            "echo one; echo two >&2; printf \"\\033[31mthree\" >&2; exit 3",
            "sh exited with status 3\ntwo\nthree",
        ),
        ("exit 1", "sh exited with status 1"),
        ("echo only here; exit 2", "sh exited with status 2\nonly here"),
        ("kill -9 $$", "sh was killed by signal 9"),
    ] {
        let (kind, text) = failure(&sh(script), json!({})).await;
        assert_eq!((kind, text.as_str()), (ErrorKind::ToolError, expected));
    }
    let (_, text) = failure(&sh("seq 1 5000 >&2; exit 1"), json!({})).await;
    let lines: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
    let expected: Vec<_> = (4981..=5000).map(|n| n.to_string()).collect();
    assert_eq!(lines, expected);
}

// TK-1
#[tokio::test]
async fn what_cannot_run_is_unavailable() {
    for (implementation, reason) in [
        (
            "{ type = 'command', program = 'no-such-program' }",
            "cannot start 'no-such-program': No such file or directory",
        ),
        (
            "{ type = 'command', program = '/etc/passwd' }",
            "cannot start '/etc/passwd': Permission denied",
        ),
        (
            "{ type = 'command', program = 'true', cwd = '/no/such/{text}' }",
            "the working directory '/no/such/folder' does not exist",
        ),
    ] {
        let (kind, text) = failure(implementation, json!({"text": "folder"})).await;
        assert_eq!(kind, ErrorKind::Unavailable, "{implementation}");
        assert_eq!(text, format!("Tool 'tried' is unavailable: {reason}"));
    }
}

// TK-1
#[tokio::test]
async fn what_no_program_can_be_given_is_refused() {
    let printf = "{ type = 'command', program = 'printf', args = ['{path}', '{text}'] }";
    for (args, problem) in [
        (json!({"text": "a\u{0}b"}), "'text' must not contain a NUL character".to_owned()),
        (
            json!({"path": "x", "text": "y".repeat(3_000_000)}),
            "'text' is too long for a command line (3000000 characters)".to_owned(),
        ),
    ] {
        let expected = format!("Invalid parameters: {problem}");
        assert_eq!(failure(printf, args).await, (ErrorKind::InvalidParameters, expected));
    }
    let (kind, text) = failure(printf, json!({"text": "-v"})).await;
    assert_eq!(kind, ErrorKind::InvalidParameters);
    assert!(
        text.starts_with("Invalid parameters: 'text' must not begin with '-': printf could"),
        "{text}"
    );
}

// TK-1, RS-6
#[tokio::test]
async fn a_file_on_stdout_is_an_artifact() {
    let printf =
        |bytes: &str| format!("{{ type = 'command', program = 'printf', args = ['{bytes}'] }}");
    let image = binary(&printf("\\211PNG\\r\\n\\032\\n\\000"), json!({})).await;
    assert_eq!(image, ("image".to_owned(), "image/png".to_owned(), "iVBORw0KGgoA".to_owned()));
    let other = binary(&printf("a\\000b"), json!({})).await;
    assert_eq!(
        other,
        ("blob".to_owned(), "application/octet-stream".to_owned(), "YQBi".to_owned())
    );
}

// TK-1: of 100 MB the beginning and the end are kept; JSON and files that long are refused.
#[tokio::test]
async fn a_hundred_megabytes_are_cut_with_a_word() {
    let yes = "{ type = 'command', program = 'sh', args = ['-c', 'echo begin; yes | head -c 100000000; echo; echo end'] }";
    let text = answer(yes, json!({})).await;
    assert!(text.len() < 17_000_000, "{}", text.len());
    assert!(text.starts_with("begin\ny\n") && text.ends_with("y\n\nend"));
    let mark =
        "[… 83222795 of 100000011 bytes that sh wrote are missing here: they were not kept …]";
    assert!(text.contains(mark));
    let json = yes.replace(" }", ", output = 'json' }");
    let (kind, text) = failure(&json, json!({})).await;
    assert_eq!(kind, ErrorKind::ToolError);
    assert_eq!(text, "sh wrote 100000011 bytes of JSON; at most 16777216 are taken");
    let zeros = "{ type = 'command', program = 'head', args = ['-c', '100000000', '/dev/zero'] }";
    let (_, text) = failure(zeros, Value::Object(Default::default())).await;
    assert_eq!(text, "head wrote 100000000 bytes of binary data; at most 16777216 are taken");
}
