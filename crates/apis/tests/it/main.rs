//! Descriptions become tools, and calls become requests.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

mod calls;
mod descriptions;
mod hostile;
mod loading;
mod responder;
