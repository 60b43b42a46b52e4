use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_exec::files::{Cwd, LocalWorkspace};
use hermes_types::{FileError, Workspace};

use super::desk::{Desk, names};

#[tokio::test]
async fn files_of_this_machine() {
    let desk = Desk::new();
    let workspace = LocalWorkspace::new(desk.cwd.clone());
    let path = desk.path("d/f");
    workspace.write(&path, b"0123456789").await.unwrap();
    let read = async |offset, max| workspace.read(&path, offset, max).await.unwrap();
    assert_eq!(read(0, 4).await, b"0123");
    assert_eq!(read(8, 100).await, b"89");
    assert_eq!(read(99, 1).await, b"");
    let stat = workspace.stat(&path).await.unwrap();
    assert_eq!((stat.size, stat.is_dir), (10, false));
    assert!(workspace.stat(&desk.path("d")).await.unwrap().is_dir);
    desk.put("d/a", "");
    desk.put("d/b", "");
    let dir = desk.path("d");
    assert_eq!(workspace.list(&dir, 2).await.unwrap(), ["a", "b"]);
    assert_eq!(names(&dir), ["a", "b", "f"]);
    desk.cwd.set("/elsewhere");
    assert_eq!(workspace.cwd(), Path::new("/elsewhere"));
}

#[tokio::test]
async fn what_goes_wrong() {
    let desk = Desk::new();
    let workspace = LocalWorkspace::new(Cwd::new("/"));
    let missing = desk.path("missing");
    let error = workspace.read(&missing, 0, 1).await.unwrap_err();
    assert_eq!(error, FileError::NotFound(missing));
    let check = async |path: PathBuf, says: &str| {
        let error = workspace.write(&path, b"x").await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    };
    fs::create_dir(desk.path("dir")).unwrap();
    check(desk.path("dir"), "not a regular file").await;
    check("/dev/null".into(), "not a regular file").await;
    // A reader of a device or a directory would wait or be confused.
    assert!(workspace.read(Path::new("/dev/zero"), 0, 1).await.is_err());
    assert!(workspace.read(&desk.path("dir"), 0, 1).await.is_err());
    assert_eq!(names(&desk.path(".")), ["dir"]);
}

#[tokio::test]
async fn a_new_file_is_as_the_owner_wants_new_files() {
    let desk = Desk::new();
    let workspace = LocalWorkspace::new(Cwd::new("/"));
    let (ours, theirs) = (desk.path("ours"), desk.path("theirs"));
    workspace.write(&ours, b"").await.unwrap();
    fs::write(&theirs, b"").unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&ours), mode(&theirs));
    // As long as a name can be.
    let long = desk.path(&"n".repeat(255));
    workspace.write(&long, b"x").await.unwrap();
}
