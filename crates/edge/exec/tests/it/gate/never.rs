//! What is refused whatever the owner says.

use hermes_exec::gate::Decision;

use super::{check_hardline, verdict};

// spec: terminal-and-safety §13.7
#[test]
fn some_things_never_run() {
    let root = "recursive delete of root filesystem";
    for command in [
        "rm -rf /",
        "rm -rf \"/\"",
        "rm -rf '/'",
        "rm -rf //",
        "rm -rf /.",
        "rm -rf /./",
        "rm -rf /..",
        "rm -rf /*",
        "rm -r -f / --no-preserve-root",
        "rm -rf --no-preserve-root /",
        "rm -fr -- /",
        "rm /",
        "r\\m -rf /",
        "r''m -rf /",
        "'rm' -rf /",
        "\"rm\" \"-rf\" \"/\"",
        "rm${IFS}-rf${IFS}/",
        "rm$IFS-rf$IFS/",
        "rm${IFS%?}-rf${IFS%?}/",
        "ｒｍ -rf /",
        "rm \\\n -rf /",
        "\u{1b}[31mrm\u{1b}[0m -rf /",
        "$'rm' -rf /",
        "$'\\x72m' -rf /",
        "$'\\162m' -rf $'/'",
        "{rm,-rf,/}",
        "X=rm; $X -rf /",
        "X=/; rm -rf $X",
        "export T=/; rm -rf \"$T\"",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "$(printf rm) -rf /",
        "${X:-rm} -rf /",
        "rm -rf ${UNSET:-/}",
        "/bin/rm -rf /",
        "/bin/../bin/rm -rf /",
        "sudo rm -rf /",
        "sudo -u root rm -rf /",
        "sudo -n -- rm -rf /",
        "env A=b rm -rf /",
        "env -i rm -rf /",
        "A=b rm -rf /",
        "exec rm -rf /",
        "nohup rm -rf /",
        "setsid rm -rf /",
        "time rm -rf /",
        "command rm -rf /",
        "builtin command rm -rf /",
        "nice -n 5 rm -rf /",
        "timeout 5 rm -rf /",
        "timeout -k 1 5s rm -rf /",
        "busybox rm -rf /",
        "echo hi; rm -rf /",
        "true && rm -rf /",
        "false || rm -rf /",
        "true & rm -rf /",
        "echo x | rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "if true; then rm -rf /; fi",
        "while true; do rm -rf /; done",
        "for i in 1; do rm -rf /; done",
        "f() { rm -rf /; }; f",
        "! rm -rf /",
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "echo \"$(rm -rf /)\"",
        "cat <(rm -rf /)",
        "echo ${X:-$(rm -rf /)}",
        "bash -c 'rm -rf /'",
        "bash -lc \"rm -rf /\"",
        "bash --norc -c 'rm -rf /'",
        "sudo sh -c 'rm -rf /'",
        "sh -c 'sh -c \"rm -rf /\"'",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "echo 'rm -rf /' | sh",
        "printf 'rm -rf /' | bash",
        "bash <<< 'rm -rf /'",
        "bash <<EOF\nrm -rf /\nEOF",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "su -c 'rm -rf /'",
        "trap 'rm -rf /' EXIT",
        "find / -exec rm -rf / \\;",
        "xargs rm -rf / < list",
        "rg --pre 'rm -rf /' x",
        "ls\nrm -rf /",
        "$UNKNOWN -rf /",
    ] {
        check_hardline(command, root);
    }
    let system = "recursive delete of system directory";
    for command in [
        "rm -rf /etc",
        "rm -rf /usr/",
        "rm -rf /var/*",
        "rm -rf /home",
        "rm -rf /tmp/../etc",
        "rm -rf x /boot",
        "rm -rf /{etc,usr}",
        "rm -rf /root",
    ] {
        check_hardline(command, system);
    }
    let home = "recursive delete of home directory";
    for command in [
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf $HOME",
        "rm -rf ${HOME}",
        "rm -rf \"${HOME}/\"",
        "rm -rf /home/me",
        "rm -rf /home/me/*",
    ] {
        check_hardline(command, home);
    }
    for (command, key) in [
        ("mkfs.ext4 /dev/sda1", "format filesystem (mkfs)"),
        ("sudo mkfs /dev/sda", "format filesystem (mkfs)"),
        ("/sbin/mkfs.xfs x", "format filesystem (mkfs)"),
        ("dd if=/dev/zero of=/dev/sda", "dd to raw block device"),
        ("dd of=/dev/nvme0n1 if=x", "dd to raw block device"),
        ("cat x > /dev/sda", "redirect to raw block device"),
        ("echo 1 >/dev/vda1", "redirect to raw block device"),
        (":(){ :|:& };:", "fork bomb"),
        ("bomb() { bomb | bomb & }; bomb", "fork bomb"),
        ("kill -9 -1", "kill all processes"),
        ("kill -s KILL -1", "kill all processes"),
        ("kill -- -1", "kill all processes"),
        ("shutdown now", "system shutdown/reboot"),
        ("(reboot)", "system shutdown/reboot"),
        ("sudo reboot", "system shutdown/reboot"),
        ("REBOOT", "system shutdown/reboot"),
        ("true && poweroff", "system shutdown/reboot"),
        ("halt", "system shutdown/reboot"),
        ("init 0", "init 0/6 (shutdown/reboot)"),
        ("telinit 6", "telinit 0/6 (shutdown/reboot)"),
        ("systemctl reboot", "systemctl poweroff/reboot"),
        ("systemctl --force poweroff", "systemctl poweroff/reboot"),
    ] {
        check_hardline(command, key);
    }
}

#[test]
fn talking_about_it_is_not_doing_it() {
    for command in [
        "echo reboot",
        "grep 'shutdown' log",
        "git commit -m \"rm -rf / fix\"",
        "git commit -am 'never rm -rf /'",
        "grep -r 'rm -rf /' .",
        "rg 'mkfs|dd if=' src",
        "cat notes.md # rm -rf /",
        "kill -1 1234",
        "ls /",
        "cat <<'EOF' > notes.md\n$(reboot)\nrm -rf / is bad\nEOF",
    ] {
        assert!(
            !matches!(verdict(command), Decision::Block { .. }),
            "{command}: {:?}",
            verdict(command)
        );
    }
}
