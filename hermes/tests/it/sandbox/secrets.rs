//! What must stay unread, whatever is tried.

use std::fs;

use hermes_proc::sandbox::Network;
use hermes_testkit::TempHome;

use super::{By, Yard, with_both};

with_both!(
    secrets_cannot_be_read,
    secrets_stay_hidden_in_the_home_itself,
    a_link_in_place_of_the_directory_opens_nothing,
    a_link_to_secrets_hides_where_they_are,
);

const READS: [&str; 8] = [
    "cat ~/.ssh/id",
    "cat ~/.netrc",
    "cat ~/.config/gh/hosts.yml",
    "cat ~/.hermes/.env",
    "cat ~/.hermes/state.db",
    "cat ~/.hermes/mcp-tokens/t.json",
    "cat ~/.hermes/profiles/other/.env",
    "cat /proc/self/root$HOME/.ssh/id",
];

// spec: terminal-and-safety §15.2
async fn secrets_cannot_be_read(by: By) {
    let yard = Yard::new(by);
    for script in READS {
        yard.fails(script).await;
    }
    for script in [
        "ln -s ~/.ssh/id link; cat link",
        "ln ~/.ssh/id hard && cat hard",
        "cp -r ~/.ssh copy; grep -r PRIVATE copy",
        "mv ~/.ssh here && cat here/id",
        "grep -rs PRIVATE ~",
    ] {
        yard.fails(script).await;
    }
    assert_eq!(yard.ok("cat ~/notes").await, "public");
    assert_eq!(yard.ok("cat ~/.hermes/config.yaml").await, "{}");
}

// spec: terminal-and-safety §15.2
async fn secrets_stay_hidden_in_the_home_itself(by: By) {
    let home = TempHome::new();
    let dir = home.home();
    let yard = Yard::begun(home, by, dir, Network::On);
    for script in READS {
        yard.fails(script).await;
    }
    // What cannot be moved away cannot be found elsewhere by the next command.
    for script in ["mv ~/.config ~/c", "mv ~/.ssh ~/s", "mv ~/.hermes ~/h"] {
        yard.fails(script).await;
    }
    yard.fails("grep -rs PRIVATE ~").await;
}

// spec: terminal-and-safety §15.2
async fn a_link_in_place_of_the_directory_opens_nothing(by: By) {
    let home = TempHome::new();
    let temp = home.work().with_file_name("tmp");
    let dir = temp.join("project");
    fs::create_dir_all(&dir).unwrap();
    let yard = Yard::begun(home, by, dir, Network::On);
    yard.ok("cd $TMPDIR; rmdir project; ln -s ~ project").await;
    yard.fails("echo x >> $TMPDIR/project/notes").await;
    yard.fails("cat $TMPDIR/project/.ssh/id").await;
}

async fn a_link_to_secrets_hides_where_they_are(by: By) {
    let home = TempHome::new();
    let vault = home.work().with_file_name("vault");
    home.write(vault.join("key"), "PRIVATE");
    fs::create_dir_all(home.home()).unwrap();
    std::os::unix::fs::symlink(&vault, home.home().join(".aws")).unwrap();
    let dir = home.work();
    let yard = Yard::begun(home, by, dir, Network::On);
    yard.fails("cat ~/.aws/key").await;
    yard.fails(&format!("cat {}/key", vault.display())).await;
}
