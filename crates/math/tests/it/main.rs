//! What the engine answers, and that nothing brings it down.

mod hostile;
mod random;
mod table;
