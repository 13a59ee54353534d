//! Our MCP server as clients see it, both eras, over HTTP and stdio.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

#[path = "../../examples/gateway/queue.rs"]
mod queue;
#[path = "../../examples/gateway/neighbours.rs"]
mod neighbours;
mod house;
mod upstream;
mod entrance;
mod sessions;
mod streams;
mod alone;
mod claims;
mod input;
mod lists;
mod tasks;
mod wandering;
mod upstreams;
mod one_path;
mod stdio;
mod both_ends;
mod garbage;
