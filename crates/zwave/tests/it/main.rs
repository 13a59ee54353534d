//! The tools over a network that is made of code, run through the executor as every call is.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

mod fake;
mod settings;
mod specs;
mod finding;
mod controlling;
mod confirming;
mod interviewing;
mod reading;
mod health;
