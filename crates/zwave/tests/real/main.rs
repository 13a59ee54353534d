//! The tools over real parts: zwave-js with its simulated stick, behind mosquitto or behind zwave-js-server.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

mod parts;
mod both_ways;
mod coming_and_going;
mod stubborn_devices;
mod gateways;
mod over_tls;
