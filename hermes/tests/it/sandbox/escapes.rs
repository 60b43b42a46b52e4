//! Ways out of the bounds that must not be any.

use std::fs;
use std::net::TcpListener;

use hermes_proc::Exit;
use hermes_proc::sandbox::Network;
use hermes_testkit::TempHome;

use super::{By, Yard, with_both};

with_both!(
    nothing_outside_is_changed,
    start_files_are_fixed_in_the_home_itself,
    hermes_itself_cannot_be_touched,
    the_network_can_be_cut_off,
    nobody_gains_rights,
);

// spec: terminal-and-safety §15.1
async fn nothing_outside_is_changed(by: By) {
    let yard = Yard::new(by);
    let outside = yard.home.home().join("notes");
    let work = yard.home.work();
    std::os::unix::fs::symlink(&outside, work.join("link")).unwrap();
    std::os::unix::fs::symlink(yard.home.home(), work.join("dir")).unwrap();
    let (out, home) = (outside.display(), yard.home.home().display().to_string());
    for script in [
        &format!("echo x > {out}"),
        &format!("echo x > {home}/new"),
        "echo x > link",
        "echo x > dir/new",
        "cd ..; echo x > new",
        "cd ..; mkdir new",
        &format!("ln {out} hard && echo x > hard"),
        &format!("echo x > /proc/self/root{out}"),
        &format!("cd /proc/self/root{home} && echo x > new"),
        &format!("mv {out} moved"),
        &format!("echo x > mine; mv mine {home}/new"),
        &format!("truncate -s 0 {out}"),
        &format!("rm {out}"),
        "echo x > /etc/hermes-test",
        "mknod disk b 8 0 && head -c 1 disk",
    ] {
        yard.fails(script).await;
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "public");
    let mut names: Vec<_> = fs::read_dir(yard.home.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let before = [".bashrc", ".config", ".hermes", ".netrc", ".ssh", "notes"];
    assert_eq!(names, before);
    assert!(!work.with_file_name("new").exists());
    yard.ok("echo x > inside; mv inside \"$TMPDIR\"; test -e \"$TMPDIR/inside\"")
        .await;
}

// spec: terminal-and-safety §15.1
async fn start_files_are_fixed_in_the_home_itself(by: By) {
    let home = TempHome::new();
    let dir = home.home();
    let yard = Yard::begun(home, by, dir, Network::On);
    for script in [
        "echo x >> ~/.bashrc",
        "rm ~/.bashrc",
        "mv ~/.bashrc ~/old",
        "echo x > ~/new; mv ~/new ~/.bashrc",
        "echo x >> ~/.hermes/config.yaml",
        "mv ~/.hermes ~/other",
    ] {
        yard.fails(script).await;
    }
    let rc = yard.home.home().join(".bashrc");
    assert_eq!(fs::read_to_string(rc).unwrap(), "# mine");
    assert_eq!(yard.home.read("config.yaml"), "{}");
    yard.ok("echo x >> ~/notes").await;
    let made = yard.run("echo x > ~/made").await.exit;
    // Where something is left out, Landlock cannot let new things be made beside it.
    assert_eq!(made == Exit::Code(0), by == By::Bubblewrap);
}

// spec: terminal-and-safety §15.3
async fn hermes_itself_cannot_be_touched(by: By) {
    let yard = Yard::new(by);
    let pid = std::process::id();
    let attach = format!(
        "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != 0)'"
    );
    for script in [
        &format!("head -c 1 /proc/{pid}/environ | grep -q ."),
        &format!("head -c 1 /proc/{pid}/maps | grep -q ."),
        &format!("exec 3< /proc/{pid}/mem"),
        &format!("readlink /proc/{pid}/fd/1"),
        &format!("exec 3< /proc/{pid}/fd/0"),
        &format!("ls /proc/{pid}/root/"),
        &format!("kill -0 {pid}"),
        &attach,
        "kill -0 $PPID && [ $PPID -gt 1 ]",
    ] {
        yard.fails(script).await;
    }
}

// spec: terminal-and-safety §15.4
async fn the_network_can_be_cut_off(by: By) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    Yard::new(by).ok(&connect).await;
    listener.accept().unwrap();
    Yard::offline(by).fails(&connect).await;
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody came");
}

// spec: terminal-and-safety §15.5
async fn nobody_gains_rights(by: By) {
    let yard = Yard::new(by);
    let status = yard.ok("cat /proc/self/status").await;
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    for set in ["CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let none = format!("{set}:\t0000000000000000");
        // Without root nobody could empty the bounding set, and nobody needs to.
        let matters = set != "CapBnd" || nix_root();
        assert!(!matters || status.contains(&none), "{set}: {status}");
    }
    let ssh = yard.home.home().join(".ssh");
    let ssh = ssh.display();
    for script in [
        "mount -t tmpfs none .",
        "mount -o remount,rw /",
        &format!("umount {ssh}"),
        &format!("unshare -Urm sh -c 'umount {ssh}; cat {ssh}/id' | grep PRIVATE"),
        "unshare -Urm sh -c 'mount -o remount,bind,rw / && touch /hermes-test'",
        "touch mine; chown 12345 mine",
        "su -c 'touch /hermes-test' 2>&1 < /dev/null && test -e /hermes-test",
    ] {
        yard.fails(script).await;
    }
    assert!(!std::path::Path::new("/hermes-test").exists());
}

fn nix_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}
