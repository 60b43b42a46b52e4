//! `cargo xtask tidy`: the architecture tests. The dependency table, sizes, and a few rules no lint knows.

mod layers;
mod rules;
mod scan;
mod sizes;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::workspace::{self, Package, Source};
use sizes::Measured;

pub fn run(args: Args) -> Result<()> {
    args.words(&[])?;
    let packages = workspace::packages()?;
    let mut problems = layers::check(&packages);
    let mut measured = Vec::new();
    for package in &packages {
        problems.extend(rules::manifest(&package.manifest_path)?);
        for source in workspace::sources(package.dir(), &["rs"])? {
            let file = measure(package, &source);
            problems.extend(rules::source(&source, &file));
            measured.push(file);
        }
    }
    problems.extend(sizes::check(&measured));
    print!("{}", sizes::report(&measured));
    for problem in &problems {
        println!("error: {problem}");
    }
    ensure!(problems.is_empty(), "{} problems", problems.len());
    Ok(())
}

fn measure(package: &Package, source: &Source) -> Measured {
    let blanked = scan::blank(&source.text);
    let code = scan::without_tests(&blanked);
    let lines = source.text.lines().count();
    let all_tests = is_test_file(package, source);
    let tests = if all_tests {
        lines
    } else {
        scan::test_lines(&blanked)
    };
    Measured {
        package: package.name.clone(),
        path: source.path.display().to_string(),
        code: lines - tests,
        tests,
        functions: if all_tests {
            Vec::new()
        } else {
            scan::functions(&code)
        },
        blanked,
    }
}

/// Outside `src` (tests, examples), or a `tests` module that has its own file.
fn is_test_file(package: &Package, source: &Source) -> bool {
    let inside = workspace::root().join(&source.path);
    let Ok(inside) = inside.strip_prefix(package.dir()) else {
        return false;
    };
    !inside.starts_with("src")
        || inside
            .iter()
            .any(|part| part == "tests" || part == "tests.rs")
}
