//! Cargo considers build dependencies only of packages with a build script.

fn main() {}
