//! Our MCP server as clients see it, both eras, over HTTP and stdio.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod house;
mod upstream;
mod entrance;
mod sessions;
mod streams;
mod alone;
mod input;
mod lists;
mod upstreams;
mod stdio;
mod both_ends;
mod garbage;
