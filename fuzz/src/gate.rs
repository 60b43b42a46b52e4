//! The gate: it answers, in a number of steps that grows with the command only, and company makes no forbidden
//! command harmless.

use hermes_gate::{Places, look};

use crate::Target;

pub const TARGET: Target = Target {
    name: "gate",
    seeds,
    pieces: &[
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "$'",
        "${",
        "${x:-",
        "<<E\n",
        "\nE\n",
        "<<<",
        "<(",
        ">",
        "2>&1",
        "#",
        "rm -rf /",
        "reboot",
        "sudo ",
        "bash -c '",
        "eval ",
        "env ",
        "xargs ",
        "if true; then ",
        "; fi",
        "for x in a b; do ",
        "; done",
        "case x in a) ",
        ";; esac",
        "f() { ",
        "[[ ",
        " ]]",
        "$((",
        "))",
        "X=",
        "$X",
        "a=(",
        "{a,b}",
        "\\\n",
        "ssh h ",
        "find . -exec ",
        "\u{ff52}",
        "\u{1b}[0m",
    ],
    check,
};

fn seeds() -> Vec<String> {
    let table = include_str!("../../crates/base/gate/tests/it/commands.txt");
    let commands = table.lines().filter_map(|line| line.split('\t').nth(2));
    let commands = commands.map(|command| {
        command
            .replace('⏎', "\n")
            .replace('⇥', "\t")
            .replace('␛', "\u{1b}")
    });
    commands.collect()
}

fn check(command: &str) -> Result<(), String> {
    let places = Places {
        user_home: "/home/me".into(),
        hermes_home: "/srv/hermes".into(),
        temp_dir: "/tmp".into(),
    };
    let findings = look(command, &places);
    let most = 80 * command.len() + (5 << 20);
    if findings.steps > most {
        return Err(format!(
            "{} steps for {} bytes",
            findings.steps,
            command.len()
        ));
    }
    let Some(key) = findings.hardline else {
        return Ok(());
    };
    // What is too long or too large for one command need not be for two.
    if key.contains("limit") {
        return Ok(());
    }
    let mut company = vec![
        format!("true; {command}"),
        format!("true\n{command}"),
        format!("# a comment\n{command}"),
        format!("  \t{command}"),
    ];
    // A backslash or an open quote at the end would take in what follows.
    if !command.ends_with('\\') && !findings.unfinished {
        company.push(format!("{command}\n# a comment"));
        company.push(format!("{command}\ntrue"));
        company.push(format!("{command}\n  "));
    }
    for more in company {
        if look(&more, &places).hardline.is_none() {
            return Err(format!("'{key}' is gone in {more:?}"));
        }
    }
    Ok(())
}
