//! Tests of the lock.

mod corpus;
