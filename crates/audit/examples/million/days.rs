//! Figures of many days, from rollups that are copied: no calls are behind the copies.

use std::{path::Path, time::Duration, time::SystemTime};

use rusqlite::Connection;
use switchboard_audit::{Filter, Reader};
use tokio::time::Instant;

use crate::Failure;

/// Copies the rollups to the days before, and asks for figures.
pub(crate) fn ask(folder: &Path, days: u32) -> Result<(), Failure> {
    let index = Connection::open(folder.join("index.db"))?;
    let copied = index.execute(
        "WITH RECURSIVE before (day) AS (SELECT 1 UNION ALL SELECT day + 1 FROM before WHERE day + 1 < ?1)
         INSERT OR IGNORE INTO rollups
         SELECT seconds, began - 86400 * day, key, calls, bytes, durations FROM rollups CROSS JOIN before",
        [days],
    )?;
    println!("{copied} rollups were copied");
    let mut reader = Reader::open(folder)?;
    let week = Some(SystemTime::now() - Duration::from_secs(7 * 86_400));
    let questions = [
        ("all", Filter::default()),
        ("one tool", Filter { tool: Some("weather_7".to_owned()), ..Filter::default() }),
        ("a week", Filter { since: week, ..Filter::default() }),
    ];
    for (what, filter) in questions {
        for _ in 0..3 {
            let started = Instant::now();
            let figures = reader.stats(&filter)?;
            let calls = figures.iter().map(|tool| tool.calls).sum::<u64>();
            println!("stats of {what}: {calls} calls in {:.1?}", started.elapsed());
        }
    }
    Ok(())
}
