//! YAML as the Python program reads and writes it: version 1.1 scalars, merge keys, last duplicate wins.
//!
//! The syntax comes from `saphyr-parser`; what a plain scalar means is decided here, because libraries that
//! hand out finished values follow YAML 1.2 and would read `off` or `1:30` differently from the program we
//! share the file with. Each node keeps its place in the text, so that an edit touches nothing else.

mod edit;
mod emit;
mod node;
mod scalar;
mod splice;

pub use edit::{EditError, Path, Segment, set, unset};
pub use node::{Error, Node, parse};

use serde_json::Value;

/// Reads a whole document as data.
pub fn read(text: &str) -> Result<Value, Error> {
    parse(text)?.map_or(Ok(Value::Null), |node| node.value())
}

/// Writes a whole document.
pub fn write(value: &Value) -> String {
    emit::document(value)
}
