//! The real binary, run as people run it: in a folder of its own, with an empty environment.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod test_folder;
mod pty;
mod fixture;
mod serving;
mod call;
mod call_output;
mod arguments;
mod completion;
mod config;
mod trust;
mod lock;
mod hostile;
mod definitions;
mod programs;
mod sandbox;
mod tools;
mod servers;
mod apis;
mod connecting;
mod skipped;
mod foreign;
mod add;
mod import;
mod import_all;
mod resources;
mod ask;
mod providers;
mod many_tools;
mod images;
mod ollama;
mod questions;
mod chat;
mod cluster;
mod serve;
mod own_gateway;
mod serve_skipped;
mod server_editor;
mod calls;
mod runs;
mod runs_chaos;
mod runs_fitting;
mod runs_compared;
mod runs_of_clients;
mod private_files;
mod redaction;
mod secret;
mod login;
mod per_user;
mod replay;
mod policy;
mod profiles;
mod approve;
mod zwave;
mod worker;
mod voice;
mod doctor;
mod doctor_disk;
mod unusable_store;
mod streams;
mod usage;
mod names;
#[cfg(feature = "real-parts")]
mod on_a_terminal;
#[cfg(feature = "real-parts")]
mod chat_in_tmux;
#[cfg(feature = "real-parts")]
mod approve_in_tmux;
