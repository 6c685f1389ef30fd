//! Programs that a test writes.

use std::path::Path;
use std::process::Command;

/// Writes a program that everybody may run. It is another process that does: each one that some
/// thread of this one is just starting has all open that this one writes, and what somebody has
/// open for writing cannot be run.
#[track_caller]
pub fn write_program(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).unwrap();
    let copied = Command::new("install")
        .args(["-m", "0755"])
        .arg(&draft)
        .arg(path)
        .status();
    let is_there = copied.as_ref().is_ok_and(std::process::ExitStatus::success);
    assert!(is_there, "{}: {copied:?}", path.display());
    std::fs::remove_file(draft).unwrap();
}
