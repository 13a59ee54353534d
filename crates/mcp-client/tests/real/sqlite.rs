//! `PyPI`'s `mcp-server-sqlite`, which is of an older time.

use serde_json::json;

use crate::{
    parts::{Folder, pypi},
    test_servers::{TestServers, legacy},
};

// MC-1, MC-7
#[tokio::test]
async fn sqlite_keeps_what_is_inserted() {
    let folder = Folder::new();
    let database = folder.file("t.db");
    let test =
        TestServers::of(pypi("mcp-sqlite", "mcp-server-sqlite", &["--db-path", &database])).await;
    assert_eq!(test.era("s"), legacy());

    let query = |text: &str| json!({"query": text});
    test.call("s__create_table", query("CREATE TABLE lamps (name TEXT, level INTEGER)")).await;
    test.call("s__write_query", query("INSERT INTO lamps VALUES ('kitchen', 70), ('hall', 0)"))
        .await;
    let rows = test.call("s__read_query", query("SELECT name FROM lamps WHERE level > 0")).await;
    assert_eq!(rows, "[{'name': 'kitchen'}]");
    // RS-4: its errors are no failures to it; its words are passed on.
    let words = test.call("s__read_query", query("SELECT level FROM nowhere")).await;
    assert_eq!(words, "Database error: no such table: nowhere");
    test.close().await;
}
