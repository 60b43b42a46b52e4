//! The crate's tables, read when first needed. People write them as YAML; what is compiled in is the same as JSON,
//! which is read several times faster, and every start needs some of it. A test writes the JSON.

use serde::de::DeserializeOwned;

/// Reads a table. A broken one fails every test; at run time an empty one still lets the program start.
pub(crate) fn read<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::error!("a table of the model crate is broken: {error}");
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn what_is_compiled_in_is_what_people_wrote() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        let mut changed = Vec::new();
        for name in ["catalogue", "limits", "prices", "side"] {
            let written = fs::read_to_string(dir.join(format!("{name}.yaml"))).unwrap();
            let expected = format!("{}\n", hermes_home::yaml::read(&written).unwrap());
            let path = dir.join(format!("{name}.json"));
            if fs::read_to_string(&path).unwrap_or_default() != expected {
                fs::write(&path, expected).unwrap();
                changed.push(path);
            }
        }
        assert!(
            changed.is_empty(),
            "were out of date and are written now: {changed:?}"
        );
    }
}
