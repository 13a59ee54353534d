//! Servers that are child processes, with real processes: what they write, how they end, and that nothing is left.

mod support;
mod garbage;
mod requests;
mod writing;
mod ending;
mod orphans;
mod starting;
mod stderr;
