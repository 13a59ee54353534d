//! Durable calls, all of them in one stream.

#[expect(clippy::duplicate_mod, reason = "the same tests, with another number of partitions")]
#[path = "jobs/tests.rs"]
mod jobs;

use crate::TestServers;

fn start() -> TestServers {
    TestServers::start()
}
