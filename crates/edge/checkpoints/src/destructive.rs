//! Which commands are worth a snapshot: those that remove or overwrite files.

use hermes_gate::{Places, look};

/// Programs that do little else.
const PROGRAMS: [&str; 11] = [
    "cp", "dd", "install", "mv", "patch", "rm", "rmdir", "shred", "tee", "truncate", "unlink",
];

/// What git does to files in its work tree.
const GIT: [&str; 7] = [
    "checkout", "clean", "reset", "restore", "rm", "stash", "switch",
];

/// Options of git itself that take the next word.
const GIT_VALUES: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// Whether a command may remove or overwrite files, also through other shells and wrappers.
pub(crate) fn is_destructive(command: &str) -> bool {
    let found = look(command, &Places::default());
    let overwrites = found.overwritten().next().is_some();
    overwrites || found.started().any(destroys)
}

fn destroys(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let has = |wanted: fn(&str) -> bool| args.iter().any(|arg| wanted(arg));
    match name {
        "sed" => has(|arg| in_place(arg, 'i') || arg.starts_with("--in-place")),
        "perl" | "ruby" => has(|arg| in_place(arg, 'i')),
        "find" => has(|arg| arg == "-delete"),
        "git" => verb(args).is_some_and(|verb| GIT.contains(&verb)),
        _ => PROGRAMS.contains(&name),
    }
}

/// `-i`, `-i.bak`, `-ni`
fn in_place(arg: &str, letter: char) -> bool {
    let short = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let letters = short.map(|rest| rest.split('.').next().unwrap_or(rest));
    letters.is_some_and(|letters| letters.contains(letter))
}

/// `checkout` in `git -C x checkout`
fn verb(args: &[String]) -> Option<&str> {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            value if GIT_VALUES.contains(&value) => drop(args.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_a_snapshot() {
        let yes = [
            "rm -rf build",
            "cd x && /bin/rm y",
            "sudo -u me mv a b",
            "find . -name '*.o' -delete",
            "find . -exec rm {} +",
            "ls | xargs rm",
            "sed -i s/a/b/ f",
            "sed -n -i.bak p f",
            "sed --in-place=.x s/a/b/ f",
            "perl -pi -e s/a/b/ f",
            "git reset --hard",
            "git -C sub checkout -- .",
            "git clean -fd",
            "git stash",
            "echo x > f",
            "make 2>err >out",
            "echo x &> f",
            ": >| f",
            "cat a | tee b",
            "bash -c 'rm x'",
            "eval \"rm x\"",
            "echo $(rm x)",
            "truncate -s0 f; true",
            "dd if=a of=b",
            "install -m 755 a b",
        ];
        let no = [
            "",
            "ls -la",
            "grep -r 'rm -rf' .",
            "echo 'a > b'",
            "git commit -m 'rm x > y'",
            "git log --oneline",
            "git status",
            "pip install x",
            "sed -n 1,5p f",
            "perl -e 'print 1'",
            "cargo test 2>&1 | tail",
            "make > /dev/null 2>&1",
            "echo x >> f",
            "cat < f",
            "find . -name rm",
            "[[ a > b ]]",
        ];
        for command in yes {
            assert!(is_destructive(command), "{command}");
        }
        for command in no {
            assert!(!is_destructive(command), "{command}");
        }
    }
}
