//! What git cannot bring back.

use crate::program::operands;

const VALUES: [&str; 6] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
];

pub(super) fn of(args: &[String]) -> Option<&'static str> {
    let (verb, args) = operands(args, &VALUES).split_first()?;
    let short = |letter: char| {
        args.iter()
            .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
    };
    let long = |prefix: &str| args.iter().any(|arg| arg.starts_with(prefix));
    match verb.as_str() {
        "reset" => {
            // Git takes any beginning of an option that can only be this one.
            let hard = |arg: &String| arg.len() > 2 && "--hard".starts_with(arg.as_str());
            let found = args.iter().any(hard);
            found.then_some("git reset --hard (destroys uncommitted changes)")
        }
        "push" => {
            let forced = long("--forc") || short('f') || args.iter().any(|arg| is_forced(arg));
            forced.then_some("git force push (rewrites remote history)")
        }
        "clean" => {
            (short('f') || long("--f")).then_some("git clean with force (deletes untracked files)")
        }
        "branch" => {
            let deletes = short('d') || long("--del");
            let forced = short('f') || long("--forc");
            (short('D') || (deletes && forced)).then_some("git branch force delete")
        }
        _ => None,
    }
}

/// `+main`
fn is_forced(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('+')
}
