//! What many gateways know together, so that a request may reach any of them: who may call what, how much of it, which
//! calls wait for a person, and what happened.

pub mod figures;
pub mod records;
pub mod streams;
