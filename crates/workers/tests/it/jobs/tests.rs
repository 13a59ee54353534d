//! Durable calls, with a cluster in memory and executors in this process, under a paused clock.

mod conformance;
mod endings;
mod keyed;
mod keys;
mod queue;
mod deaths;
mod faults;
mod property;

use std::time::Duration;

use switchboard_runtime::{DurableCalls, QueuedCall, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ErrorKind};
use switchboard_workers::Cluster;

use super::start;
use crate::shared::jobs::*;
