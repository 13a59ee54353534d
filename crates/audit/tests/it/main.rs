//! The store from outside: what executors write, what processes leave, what readers find.

mod support;

mod recording;
mod crashes;
mod damage;
mod failures;
mod sharing;
mod index;
mod claims;
mod retention;
mod clock;
