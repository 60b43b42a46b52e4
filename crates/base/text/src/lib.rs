//! Pure work on text: finding what a model meant although it quoted it loosely and putting another in its place, and
//! finding what was meant to give it orders.

mod closest;
mod fold;
mod indent;
mod ratio;
mod replace;
pub mod scan;
mod strategies;

pub use closest::did_you_mean;
pub use replace::{Mismatch, Occurrences, replace};
