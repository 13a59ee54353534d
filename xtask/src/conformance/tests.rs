use super::*;

const LIST: &str = "\
Required for 2026-07-28 (5 scenarios, frozen; run at the 2026-07-28 wire):

Server scenarios (test against a server):
  - server-stateless
  - tools-list
  - caching

Client scenarios (test against a client):
  - tools_call
  - auth/scope-step-up

Run and reported, but never scored:
  extension (2):
    - auth/dpop [client]
    - tasks-lifecycle [server]
  pending (1):
    - server-sse-polling [server]
";

const SERVER: &str = "\
=== Running scenario: tools-list ===
✓ tools-list: not in the summary

=== SUMMARY ===
✗ server-stateless: 28 passed, 2 failed
✓ tools-list: 1 passed, 0 failed
✓ caching: 4 passed, 0 failed
✗ tasks-lifecycle: 0 passed, 3 failed
✓ server-sse-polling: 0 passed, 0 failed

Total: 33 passed, 5 failed

\u{1b}[33mExpected failures (in baseline):\u{1b}[0m
  ~ server-stateless
  ~ caching
";

const CLIENT: &str = "\
=== SUITE SUMMARY ===

✓ tools_call: 1 passed, 0 failed
✗ auth/scope-step-up: 3 passed, 0 failed, 1 warnings
✗ auth/dpop: 0 passed, 1 failed

Total: 4 passed, 1 failed, 1 warnings
";

const EXPECTED: &str = "\
# What cannot pass, and why.
server:
  # The tool must see a | b;
  # an old server is told once.
  - server-stateless
  - caching # it is cold
client:
  - auth/scope-step-up
";

fn reasons() -> Reasons {
    Reasons::parse("expected.yml", EXPECTED)
}

/// The run of a leg, as the suite told of it.
fn pairing(leg: Leg, behind: Option<Behind>, told: &str) -> Result<Pairing> {
    Pairing::new(&Requirements::parse("2026-07-28", LIST)?, leg, behind, told, reasons())
}

#[test]
fn a_server_is_told_of_by_counts_failures_and_what_is_not_scored() {
    let better =
        SERVER.replace("✗ server-stateless: 28 passed, 2", "✓ server-stateless: 30 passed, 0");
    let better = better.replace("  ~ ", "");
    let pairings = [
        pairing(Leg::Server, Some(Behind::server("2025-11-25")), SERVER).unwrap(),
        pairing(Leg::Server, Some(Behind::profile("2026-07-28")), &better).unwrap(),
    ];
    let expected = "\
| scored scenarios | server behind: 2025-11-25 | server behind: 2026-07-28, through a profile |
| --- | --- | --- |
| 2026-07-28: 3 | 1 pass, 2 do not (33 of 35 checks) | all pass (35 of 35 checks) |

| scored, and does not pass | where | why |
| --- | --- | --- |
| `server-stateless` | 2026-07-28 before 2025-11-25: 28 of 30 checks | The tool must see a \\| b; an old server is told once |
| `caching` | 2026-07-28 before 2025-11-25: a warning | it is cold |

| not scored | why not | 2026-07-28 before 2025-11-25 | 2026-07-28 before 2026-07-28, through a profile |
| --- | --- | --- | --- |
| `tasks-lifecycle` | extension | fails | fails |
| `server-sse-polling` | pending | checks nothing | checks nothing |
";
    assert_eq!(table::write(&pairings).unwrap(), expected);
}

#[test]
fn a_client_that_passes_needs_no_table_of_failures() {
    let better = CLIENT.replace("✗ auth/scope-step-up", "✓ auth/scope-step-up");
    let expected = "\
| scored scenarios | the client |
| --- | --- |
| 2026-07-28: 2 | all pass (4 of 4 checks) |

| not scored | why not | 2026-07-28 |
| --- | --- | --- |
| `auth/dpop` | extension | fails |
";
    assert_eq!(table::write(&[pairing(Leg::Client, None, &better).unwrap()]).unwrap(), expected);
}

#[test]
fn a_failure_without_a_reason_is_an_error_that_says_where_to_put_it() {
    let pairing = pairing(Leg::Client, None, CLIENT).unwrap();
    let error = table::write(&[pairing]).unwrap_err().to_string();
    assert!(
        error.contains("`auth/scope-step-up` fails") && error.contains("`expected.yml`"),
        "{error}"
    );
}

#[test]
fn reasons_stand_beside_a_scenario_or_above_several() {
    let reasons = reasons();
    assert_eq!(
        reasons.of("server-stateless").unwrap(),
        "The tool must see a | b; an old server is told once"
    );
    assert_eq!(reasons.of("caching").unwrap(), "it is cold");
    assert!(
        reasons.of("auth/scope-step-up").is_err(),
        "a comment of another list is not its reason"
    );
    assert!(reasons.of("tools-list").is_err());
}

#[test]
fn output_that_cannot_be_read_is_an_error() {
    let told = |told: &str| pairing(Leg::Server, None, told).err().unwrap().to_string();
    assert!(told("nothing").contains("no summary"));
    assert!(told("=== SUMMARY ===\nTotal: 0").contains("cannot be read"));
    assert!(told("=== SUMMARY ===\n✓ tools-list: fine").contains("cannot be read"));
    assert!(
        told("=== SUMMARY ===\n✓ tools-list: 1 passed, 0 failed")
            .contains("requires `server-stateless`")
    );
    let error =
        Requirements::parse("2026-07-28", "Server scenarios:\n  - ping").err().unwrap().to_string();
    assert!(error.contains("no Client scenario"), "{error}");
}

#[test]
fn only_what_is_between_the_markers_changes() {
    let start = "<!-- client: written by `cargo xtask conformance`, not by hand -->";
    let old = format!("# Title\n{start}\n\nold\n\n<!-- end of client -->\nrest\n");
    let new = document::replace(&old, "client", "new\n").unwrap();
    assert_eq!(new, format!("# Title\n{start}\n\nnew\n\n<!-- end of client -->\nrest\n"));
    assert_eq!(document::replace(&new, "client", "new\n").unwrap(), new);
    let error = document::replace(&old, "server", "").unwrap_err().to_string();
    assert!(error.contains("no line `<!-- server: "), "{error}");
}

#[test]
fn a_check_writes_nothing_and_names_the_line() {
    let folder = KeptFolder::new().unwrap();
    let path = folder.0.join("document.md");
    fs::write(&path, "a\nb\n").unwrap();
    settle(&path, "a\nb\n", "a\nb\n", true).unwrap();
    let error = settle(&path, "a\nb\n", "a\nc\n", true).unwrap_err().to_string();
    assert!(error.contains("would change line 2"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
    settle(&path, "a\nb\n", "a\nc\n", false).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nc\n");
}

#[test]
fn an_authorization_server_is_told_of_by_scenario_and_revision() {
    let old = "=== SUMMARY ===\n✓ metadata: 7 passed, 0 failed\n\nTotal: 7 passed, 0 failed\n";
    let new = "=== SUMMARY ===\n✓ metadata: 8 passed, 0 failed\n✗ code: 2 passed, 1 failed\n\nTotal: 10 passed, 1 failed\n";
    let runs = [("2025-03-26", old), ("2026-07-28", new)];
    let runs = runs.map(|(revision, told)| (revision, results::summary(told).unwrap()));
    let expected = "\
| scenario | 2025-03-26 | 2026-07-28 |
| --- | --- | --- |
| `metadata` | passes (7 of 7 checks) | passes (8 of 8 checks) |
| `code` |  | fails (2 of 3 checks) |
";
    assert_eq!(table::by_scenario(&runs), expected);
}
