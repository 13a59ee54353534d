//! Our MCP server as clients see it, both eras, over HTTP and stdio.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

#[path = "../../examples/gateway/queue.rs"]
mod queue;
#[path = "../../examples/gateway/memory_peers.rs"]
mod memory_peers;
mod test_server;
mod upstream;
mod http_requests;
mod sessions;
mod streams;
mod stateless;
mod claims;
mod input;
mod lists;
mod discovery;
mod tasks;
mod session_adoption;
mod upstreams;
mod one_path;
mod profiles;
mod stdio;
mod both_ends;
mod garbage;
