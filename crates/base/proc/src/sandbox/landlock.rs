//! Bounds a program sets itself: what the kernel lets it and its children do to paths, ports and others.
//!
//! Rules can only allow, and what is allowed for a directory is allowed for all below it. To leave something out,
//! its neighbours are allowed one by one: in a directory with something hidden, nothing new can be made directly.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};

use super::policy::{Access, Network, Policy, Rules};

/// The least that protects what lies outside: older ones let everybody cut files to nothing.
const NEEDED: ABI = ABI::V3;
/// Also taken where there is more: devices, abstract sockets, signals.
const WANTED: ABI = ABI::V6;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile});
const WRITE_FILE: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{Execute | ReadFile | WriteFile | Truncate});
/// All but making devices.
const WRITE_DIR: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    Execute | ReadFile | WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo
    | MakeSym | Refer
});
const DEVICE: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});

/// Of all devices, those that only serve whoever opens them.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];
const SHARED_MEMORY: &str = "/dev/shm";

/// Holds this thread, and all it will start, to `policy`. There is no way back.
pub(super) fn restrict(policy: &Policy) -> Result<(), String> {
    drop_capabilities();
    let status = ruleset(policy)
        .and_then(RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock".to_owned()),
        _ if !status.no_new_privs => Err("setuid programs could not be kept out".to_owned()),
        _ => Ok(()),
    }
}

/// Root keeps its files and loses its powers: some of them reach around Landlock, such as reading what another
/// process has in its environment. Somebody else has none to lose, and may not do this.
fn drop_capabilities() {
    use nix::libc::{PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, PR_CAPBSET_DROP, c_ulong, prctl};
    #[expect(
        unsafe_code,
        reason = "nix has no such calls; they take numbers and touch no memory"
    )]
    let drop_one = |capability: c_ulong| unsafe { prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) };
    // Until the kernel knows no more of them.
    let _ = (0..64).take_while(|number| drop_one(*number) == 0).count();
    #[expect(unsafe_code, reason = "the same")]
    unsafe {
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    }
}

fn ruleset(policy: &Policy) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?;
    if policy.network == Network::Off {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut created = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    // Names can be seen everywhere: without this no program finds its way.
    created = allow(created, Path::new("/"), AccessFs::ReadDir.into())?;
    for (path, access) in grants(policy) {
        created = allow(created, &path, access)?;
    }
    Ok(created)
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(opened) => ruleset.add_rule(PathBeneath::new(opened, access)),
        // What cannot even be looked at stays out of reach.
        Err(_) => Ok(ruleset),
    }
}

fn grants(policy: &Policy) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let mut rules = policy.rules();
    rules.entry("/dev".into()).or_insert(Access::None);
    let mut grants = Vec::new();
    below(Path::new("/"), Access::Read, &rules, &mut grants);
    grants.extend(DEVICES.map(|device| (device.into(), DEVICE)));
    grants.push((SHARED_MEMORY.into(), WRITE_DIR));
    grants
}

/// What to allow for `path` and below, of which `access` was said further up.
fn below(
    path: &Path,
    access: Access,
    rules: &Rules,
    grants: &mut Vec<(PathBuf, BitFlags<AccessFs>)>,
) {
    let access = rules.get(path).copied().unwrap_or(access);
    let is_split = rules
        .keys()
        .any(|rule| rule != path && rule.starts_with(path));
    if is_split {
        // A directory that cannot be listed: nothing in it is allowed.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            // Where a link leads is allowed or not by its own name.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                below(&entry.path(), access, rules, grants);
            }
        }
        return;
    }
    match access {
        Access::None => {}
        Access::Read => grants.push((path.to_owned(), READ)),
        Access::Write if path.is_dir() => grants.push((path.to_owned(), WRITE_DIR)),
        Access::Write => grants.push((path.to_owned(), WRITE_FILE)),
    }
}
