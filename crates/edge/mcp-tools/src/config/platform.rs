//! Which servers a platform gets: `platform_toolsets.<platform>`, and the `enabled_toolsets` of a cron job.

/// Named in a list of toolsets, it switches all servers off there.
const NONE: &str = "no_mcp";

/// The servers out of `servers` that a list of toolsets allows. A list that names none of them allows all.
pub fn allowed<'s>(servers: &[&'s str], toolsets: &[String]) -> Vec<&'s str> {
    if toolsets.iter().any(|name| name == NONE) {
        return Vec::new();
    }
    let is_named = |server: &&str| {
        let names_it =
            |name: &String| name.strip_prefix("mcp-").unwrap_or(name) == *server || name == *server;
        toolsets.iter().any(names_it)
    };
    let named: Vec<&str> = servers.iter().copied().filter(is_named).collect();
    match named.is_empty() {
        true => servers.to_vec(),
        false => named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_a_platform() {
        let check = |toolsets: &[&str], expected: &[&str]| {
            let toolsets: Vec<String> = toolsets.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(allowed(&["a", "b-c"], &toolsets), expected, "{toolsets:?}");
        };
        check(&[], &["a", "b-c"]);
        check(&["web", "file"], &["a", "b-c"]);
        check(&["web", "a"], &["a"]);
        check(&["mcp-b-c"], &["b-c"]);
        check(&["a", "no_mcp"], &[]);
    }
}
