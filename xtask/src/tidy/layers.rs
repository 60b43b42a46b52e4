//! Who may depend on whom. A change here is a change of the architecture: say why in ARCHITECTURE.md.

use crate::workspace::Package;

struct Layer {
    crates: &'static [&'static str],
    may_use: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer {
        crates: &["types", "text"],
        may_use: &[],
    },
    Layer {
        crates: &["home", "net", "proc"],
        may_use: &["types"],
    },
    Layer {
        crates: &["store"],
        may_use: &["types", "home"],
    },
    Layer {
        crates: &["gate"],
        may_use: &["types", "home", "proc"],
    },
    Layer {
        crates: &["mcp"],
        may_use: &["net", "proc"],
    },
    Layer {
        crates: &["model", "web", "media", "chat"],
        may_use: &["types", "home", "net", "proc"],
    },
    Layer {
        crates: &["exec", "code", "checkpoints"],
        may_use: &["types", "text", "home", "proc", "gate"],
    },
    Layer {
        crates: &["refs"],
        may_use: &["types", "text", "home", "net", "proc"],
    },
    Layer {
        crates: &["mcp-tools"],
        may_use: &["types", "home", "net", "proc", "mcp"],
    },
    Layer {
        crates: &["agent"],
        may_use: &["types", "text"],
    },
    Layer {
        crates: &["skills"],
        may_use: &["types", "text", "home", "store", "net", "proc"],
    },
    Layer {
        crates: &["session"],
        may_use: &[
            "types", "home", "store", "net", "proc", "text", "agent", "skills",
        ],
    },
    Layer {
        crates: &[
            "tui",
            "gateway",
            "cron",
            "dashboard",
            "acp",
            "batch",
            "lines",
            "mcp-serve",
        ],
        may_use: &["types", "home", "store", "net", "proc", "session"],
    },
    // Throws texts at pure code, whose few dependencies it must be content with.
    Layer {
        crates: &["fuzz"],
        may_use: &["types", "home", "proc", "gate"],
    },
    // A counterpart from outside the house: it knows the wire, not Hermes.
    Layer {
        crates: &["scripted"],
        may_use: &[],
    },
    // Stand-ins for the seams.
    Layer {
        crates: &["testkit"],
        may_use: &["types"],
    },
];

/// What knows everything: the binary's wiring, and the chores.
const UNBOUND: &[&str] = &["hermes", "xtask"];

/// Allowed in any crate's `[dev-dependencies]`, besides what the table allows.
const DEV: &[&str] = &["testkit", "scripted"];

pub fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<String> {
    let folder = package.folder();
    let name = &package.name;
    let mut problems = Vec::new();
    if UNBOUND.contains(&folder) {
        let dev_only = ours(package, false).filter(|dependency| *dependency == "testkit");
        problems.extend(dev_only.map(|_| format!("{name}: testkit is for dev-dependencies")));
        return problems;
    }
    if *name != format!("hermes-{folder}") {
        problems.push(format!(
            "{name}: the folder `{folder}` asks for the name hermes-{folder}"
        ));
    }
    let Some(layer) = LAYERS.iter().find(|layer| layer.crates.contains(&folder)) else {
        problems.push(format!(
            "{name}: not in the table of xtask/src/tidy/layers.rs"
        ));
        return problems;
    };
    for dependency in ours(package, false) {
        if !layer.may_use.contains(&dependency) {
            problems.push(format!("{name} must not depend on {dependency}"));
        }
    }
    for dependency in ours(package, true) {
        if !layer.may_use.contains(&dependency) && !DEV.contains(&dependency) {
            problems.push(format!(
                "{name} must not depend on {dependency}, even for its tests"
            ));
        }
    }
    problems
}

/// The folders of our own crates that a package depends on.
fn ours(package: &Package, dev: bool) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(move |dependency| (dependency.kind.as_deref() == Some("dev")) == dev)
        .filter_map(|dependency| dependency.name.strip_prefix("hermes-"))
}
