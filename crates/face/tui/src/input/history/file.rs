//! The file of the history: entries of `+` lines, each below a comment with its time. Python's prompt_toolkit
//! reads and writes the same.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use hermes_home::{Error, Modes, clock};

/// How much of a long file is read, from its end.
const TAIL: u64 = 4 << 20;

/// The newest entries, oldest first. No file is no entry.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let skipped = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // What the cut went through is not whole.
    let whole = match skipped {
        0 => 0,
        _ => text.find("\n#").unwrap_or(text.len()),
    };
    let mut entries = parse(&text[whole..]);
    let surplus = entries.len().saturating_sub(most);
    entries.drain(..surplus);
    Ok(entries)
}

/// Entries in the order of the file, without repetitions. Lines that are neither an entry's nor a comment
/// only end the entry before.
fn parse(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut current: Option<String> = None;
    for line in text.split('\n').chain([""]) {
        match (line.strip_prefix('+'), &mut current) {
            (Some(line), Some(entry)) => {
                entry.push('\n');
                entry.push_str(line);
            }
            (Some(line), None) => current = Some(line.to_owned()),
            (None, _) => {
                let entry = current.take().unwrap_or_default();
                if !entry.trim().is_empty() && entries.last() != Some(&entry) {
                    entries.push(entry);
                }
            }
        }
    }
    entries
}

/// Adds an entry in one write, so that those of two processes don't mix.
pub fn append(path: &Path, entry: &str, modes: &Modes) -> Result<(), Error> {
    let time = clock::now().strftime("%Y-%m-%d %H:%M:%S%.6f");
    let mut record = format!("\n# {time}\n");
    for line in entry.split('\n') {
        record.push('+');
        record.push_str(line);
        record.push('\n');
    }
    write(path, record.as_bytes(), modes).map_err(Error::io("write", path))
}

fn write(path: &Path, record: &[u8], modes: &Modes) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    if let Some(mode) = modes.secret
        && fs::metadata(path)?.permissions().mode() & 0o777 != mode
    {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(record)
}
