//! Durable calls, with a real NATS and executors in this process. How calls end is tested in memory (`tests/it/jobs`).

mod conformance;
mod deaths;
mod storage;

use std::time::Duration;

use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ErrorKind};
use switchboard_workers::jobs;

use super::start;
use crate::shared::jobs::*;
