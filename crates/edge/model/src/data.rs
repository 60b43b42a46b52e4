//! The crate's tables: YAML files compiled in, read when first needed.

use serde::de::DeserializeOwned;

/// Reads a table. A broken one fails every test; at run time an empty one still lets the program start.
pub(crate) fn read<T: DeserializeOwned + Default>(text: &str) -> T {
    let value = hermes_home::yaml::read(text).unwrap_or_default();
    serde_json::from_value(value).unwrap_or_else(|error| {
        tracing::error!("a table of the model crate is broken: {error}");
        T::default()
    })
}
