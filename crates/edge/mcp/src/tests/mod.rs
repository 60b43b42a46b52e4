//! The life of a connection against a server made of a closure: time is simulated, nothing is on a wire.

mod double;
mod eras;
mod lifecycle;
mod recovery;
