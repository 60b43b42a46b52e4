//! Bounds where nothing can hold a command. Where something can: `hermes/tests/it/sandbox`.

use hermes_proc::Exit;
use hermes_proc::sandbox::{Means, Mode, Policy, Sandbox, survey};

use crate::{all, sh};

fn nothing() -> Means {
    Means {
        search: "/nonexistent:relative".to_owned(),
        confiner: "/nonexistent/hermes".into(),
    }
}

// spec: terminal-and-safety §15.8
#[tokio::test]
async fn strict_runs_nothing_that_is_not_held() {
    let sandbox = Sandbox::new(Mode::Strict, Policy::default(), nothing());
    let refused = sandbox.wrap(sh("echo ran")).await.unwrap_err().to_string();
    for part in [
        "strict",
        "bwrap is not installed",
        "Landlock: cannot run /nonexistent/hermes",
        "Install bubblewrap",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}

// spec: terminal-and-safety §15.8
#[tokio::test]
async fn auto_runs_and_says_so_once() {
    let sandbox = Sandbox::new(Mode::Auto, Policy::default(), nothing());
    assert_eq!(sandbox.notice(), None, "nothing ran yet");
    let mut running = sandbox.wrap(sh("echo ran")).await.unwrap().start().unwrap();
    assert_eq!(all(&mut running).await, ("ran\n".to_owned(), Exit::Code(0)));
    let notice = sandbox.notice().unwrap();
    assert!(
        notice.starts_with("This command ran without a sandbox: bwrap is not installed; "),
        "{notice}"
    );
    sandbox.wrap(sh("echo again")).await.unwrap();
    assert_eq!(sandbox.notice(), None);
}

#[tokio::test]
async fn a_mechanism_that_fails_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("bwrap");
    std::fs::write(
        &fake,
        "#!/bin/sh\necho 'No permissions to make a namespace'; exit 1\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&fake, mode).unwrap();
    let means = Means {
        search: dir.path().display().to_string(),
        ..nothing()
    };
    let found = survey(&means).await;
    let expected = "bubblewrap: No permissions to make a namespace";
    assert_eq!(found.bubblewrap, Err(expected.to_owned()));
    assert!(found.landlock.is_err() && found.landlock_network.is_err());
}
