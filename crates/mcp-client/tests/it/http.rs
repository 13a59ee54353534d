//! The HTTP transports against a server whose every byte the test decides.

mod server;
mod client;
mod modern;
mod legacy;
mod streams;
mod connections;
mod failures;
mod framing;
mod old_sse;
mod life;
mod fallback;
