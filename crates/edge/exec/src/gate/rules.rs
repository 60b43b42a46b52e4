//! The table of dangerous commands. The keys are stored in people's settings: they stay as they are.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// The first rule a line meets.
pub(super) fn first(line: &str) -> Option<&'static str> {
    let Ok(set) = SET.as_ref() else {
        // A test sees to it that this cannot be; if it is, nothing passes unasked.
        return Some("the table of dangerous commands is broken");
    };
    let matched = set.matches(line.as_bytes()).iter().next();
    matched.map(|index| RULES[index].0)
}

/// In patterns: `@` is "not in the middle of a name", `~SYSTEM` and so on are the places below.
const RULES: &[(&str, &str)] = &[
    ("delete in root path", r"@rm\s(?:.*\s)?/"),
    ("recursive delete", r"@rm\s(?:.*\s)?-[a-z]*r"),
    // Whatever that variable holds, set in a command before this one.
    ("recursive delete", r"^\$\{?\w+\}?\s(?:.*\s)?-[a-z]*r"),
    ("recursive delete (long flag)", r"@rm\s(?:.*\s)?--r"),
    ("xargs with rm", r"@xargs\s(?:.*@)?rm\b"),
    (
        "find -exec/-execdir rm",
        r"@find\s.*-(?:exec|ok)(?:dir)?\s(?:.*@)?rm\b",
    ),
    ("find -delete", r"@find\s.*\s-delete\b"),
    (
        "Windows cmd destructive delete",
        r"@cmd(?:\.exe)?\s+/[ck]\s.*\b(?:del|erase|rd|rmdir)\b",
    ),
    (
        "Windows PowerShell destructive delete",
        r#"@(?:powershell|pwsh)(?:\.exe)?\s+(?:-\S+\s+)*["']?(?:remove-item|rmdir|erase|del|rd|ri|rm)\b"#,
    ),
    (
        "PowerShell encoded command execution",
        r"@(?:powershell|pwsh)(?:\.exe)?\s(?:.*\s)?-e(?:nc?|c|ncodedcommand)?\b",
    ),
    (
        "recursive world/other-writable (long flag)",
        r"@chmod\s(?:.*\s)?--r.*\s~OPEN",
    ),
    (
        "world/other-writable permissions",
        r"@chmod\s(?:.*\s)?~OPEN",
    ),
    (
        "recursive chown to root",
        r"@chown\s(?:.*\s)?-[a-zA-Z]*(?-i:R).*\broot\b",
    ),
    (
        "recursive chown to root (long flag)",
        r"@chown\s(?:.*\s)?--rec.*\broot\b",
    ),
    ("format filesystem", r"@mkfs\b"),
    ("disk copy", r"@dd\s(?:.*\s)?if="),
    (
        "write to block device",
        r">\s*/dev/(?:sd|nvme|hd|mmcblk|vd|xvd)",
    ),
    ("SQL DROP", r"\bdrop\s+(?:table|database)\b"),
    ("SQL TRUNCATE", r"\btruncate\s+(?:table\s+)?\w"),
    ("overwrite system config", r">\s*~SYSTEM"),
    (
        "stop/restart system service",
        r"@systemctl\s+(?:-\S+\s+)*(?:stop|restart|disable|mask)\b",
    ),
    (
        "kill hermes/gateway process (self-termination)",
        r"@(?:pkill|killall)\s.*(?:hermes|gateway|cli\.py)\b",
    ),
    (
        "kill process via pgrep/pidof expansion (self-termination)",
        r"@kill\s.*\$\(\s*(?:pgrep|pidof)\b",
    ),
    (
        "kill process via backtick pgrep/pidof expansion (self-termination)",
        r"@kill\s.*`\s*(?:pgrep|pidof)\b",
    ),
    (
        "force kill processes",
        r"@(?:pkill|killall)\s(?:.*\s)?-(?:s\s*)?(?:9|kill|sigkill)\b",
    ),
    (
        "force kill processes",
        r"@(?:pkill|killall)\s(?:.*\s)?--signal[= ](?:9|kill|sigkill)\b",
    ),
    (
        "kill processes by regex (killall -r)",
        r"@killall\s(?:.*\s)?(?:-[a-z]*r|--regexp)\b",
    ),
    (
        "execute remote script via process substitution",
        r"@(?:(?:ba|z|k|da)?sh|source|\.)\s(?:.*\s)?<\(\s*(?:curl|wget)\b",
    ),
    (
        "execute remote content via command substitution",
        r"(?:^|@(?:eval|source|\.)\s.*)(?:\$\(|`)\s*(?:curl|wget)\b",
    ),
    (
        "overwrite system file via tee",
        r"@tee\s(?:.*\s)?~SENSITIVE",
    ),
    ("overwrite system file via redirection", r">\s*~SENSITIVE"),
    (
        "overwrite project env/config via tee",
        r"@tee\s(?:.*\s)?~PROJECT(?:\s|$)",
    ),
    (
        "overwrite project env/config via redirection",
        r">\s*~PROJECT(?:\s|$)",
    ),
    (
        "stop/restart hermes gateway (kills running agents)",
        r"@hermes\s+(?:\S+\s+)*gateway\s+(?:-\S+\s+)*(?:stop|restart)\b",
    ),
    (
        "hermes update (restarts gateway, kills running agents)",
        r"@hermes\s+(?:-\S+\s+(?:\S+\s+)?)*update\b",
    ),
    (
        "docker compose restart/stop/kill/down (container lifecycle)",
        r"@docker(?:-compose|\s+(?:-\S+\s+)*compose)\s+(?:-\S+\s+(?:\S+\s+)?)*(?:restart|stop|kill|down)\b",
    ),
    (
        "docker restart/stop/kill (container lifecycle)",
        r"@docker\s+(?:container\s+)?(?:restart|stop|kill)\b",
    ),
    (
        "stop/restart hermes launchd service (kills running agents)",
        r"@launchctl\s+(?:stop|kickstart|bootout|unload|kill|disable|remove)\b.*hermes",
    ),
    (
        "copy/move file into system config path",
        r"@(?:cp|mv|install|ln)\s.*\s~SYSTEM\S*~END",
    ),
    (
        "copy/move file into sensitive credential/SSH/shell-rc path",
        r"@(?:cp|mv|install|ln)\s.*\s~SENSITIVE\S*~END",
    ),
    (
        "overwrite project env/config file",
        r"@(?:cp|mv|install|ln)\s.*\s~PROJECT~END",
    ),
    (
        "in-place edit of Hermes config/env",
        r"@sed\s(?:.*\s)?-[a-z]*i.*~HERMES",
    ),
    (
        "in-place edit of Hermes config/env (long flag)",
        r"@sed\s(?:.*\s)?--in-place.*~HERMES",
    ),
    (
        "in-place edit of Hermes config/env (perl/ruby)",
        r"@(?:perl|ruby)\s(?:.*\s)?-[a-z0]*i.*~HERMES",
    ),
    (
        "in-place edit of sensitive credential/SSH/shell-rc path",
        r"@sed\s(?:.*\s)?-[a-z]*i.*~USER",
    ),
    (
        "in-place edit of sensitive credential/SSH/shell-rc path (long flag)",
        r"@sed\s(?:.*\s)?--in-place.*~USER",
    ),
    (
        "in-place edit of sensitive credential/SSH/shell-rc path (perl/ruby)",
        r"@(?:perl|ruby)\s(?:.*\s)?-[a-z0]*i.*~USER",
    ),
    (
        "in-place edit of system config",
        r"@sed\s(?:.*\s)?-[a-z]*i.*\s~SYSTEM",
    ),
    (
        "in-place edit of system config (long flag)",
        r"@sed\s(?:.*\s)?--in-place.*\s~SYSTEM",
    ),
    (
        "git reset --hard (destroys uncommitted changes)",
        r"@git\s(?:.*\s)?reset\s(?:.*\s)?--h(?:a|ar|ard)?(?:\s|$)",
    ),
    (
        "git force push (rewrites remote history)",
        r"@git\s(?:.*\s)?push\s(?:.*\s)?(?:--forc|-[a-z]*f[a-z]*(?:\s|$)|\+\S)",
    ),
    (
        "git clean with force (deletes untracked files)",
        r"@git\s(?:.*\s)?clean\s(?:.*\s)?(?:-[a-z]*f|--f)",
    ),
    (
        "git branch force delete",
        r"@git\s(?:.*\s)?branch\s(?:.*\s)?(?-i:-[a-zA-Z]*D)",
    ),
    (
        "git branch force delete",
        r"@git\s(?:.*\s)?branch\s(?:.*\s)?(?:(?-i:-d)|--del\S*)\s(?:.*\s)?(?:-f|--forc)",
    ),
    (
        "git branch force delete",
        r"@git\s(?:.*\s)?branch\s(?:.*\s)?(?:-f|--forc\S*)\s(?:.*\s)?(?:(?-i:-d)|--del)",
    ),
];

const HOME: &str = r"(?:~|\$\{?home\}?)";

static SET: LazyLock<Result<RegexSet, regex::Error>> = LazyLock::new(|| {
    let patterns = RULES.iter().map(|(_, pattern)| spelled_out(pattern));
    RegexSetBuilder::new(patterns)
        .unicode(false)
        .case_insensitive(true)
        .build()
});

fn spelled_out(pattern: &str) -> String {
    let system = r"(?:/etc/|/private/(?:etc|var|tmp|home)/)";
    let hermes =
        format!(r"(?:{HOME}/\.hermes|\$\{{?hermes_home\}}?)/(?:\S+/)?(?:config\.yaml|\.env)\b");
    let user = format!(
        r"{HOME}/\.(?:ssh(?:[/\s]|$)|(?:bashrc|zshrc|profile|bash_profile|zprofile|netrc|pgpass|npmrc|pypirc)\b)"
    );
    pattern
        .replace(
            "~SENSITIVE",
            &format!("(?:{system}|/dev/sd|{hermes}|{user})"),
        )
        .replace("~SYSTEM", system)
        .replace("~HERMES", &hermes)
        .replace("~USER", &user)
        .replace("~PROJECT", r"(?:\S*/)?(?:\.env(?:\.[^\s/]+)*|config\.yaml)")
        // Others may write: the last digit, or `o`, `a` or nobody named.
        .replace(
            "~OPEN",
            r"(?:[0-7]{2,3}[2367]|[ugoa]*[oa][ugoa]*[+=][rwxst]*w\w*)(?:\s|,|$)",
        )
        // Redirections come last.
        .replace("~END", r"(?:\s+[<>].*)?$")
        .replace('@', r"(?:^|[^\w.-])")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        assert!(SET.is_ok(), "{:?}", SET.as_ref().err());
        assert_eq!(first("ls -la"), None);
    }
}
