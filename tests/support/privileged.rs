//! The tests that need root: system calls that `strace` makes fail, small disks mounted in their
//! own namespace. One variable turns them on, as `.ci/run` does.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::skipped;

/// The variable that turns them on.
pub const VARIABLE: &str = "CTXRELAY_TEST_PRIVILEGED";

/// Whether such a test may run. When not, it returns at once and is counted as left out. A machine
/// that was told to and cannot fails its tests: they say what is missing.
#[must_use]
pub fn granted() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|value| value != "1") {
        skipped::note("privileged", &format!("set {VARIABLE}=1"));
        return false;
    }
    static CHECKED: OnceLock<()> = OnceLock::new();
    CHECKED.get_or_init(|| {
        works("strace", &["-f", "-qq", "-o", "/dev/null", "true"]);
        works("unshare", &["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    });
    true
}

fn works(program: &str, args: &[&str]) {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .status();
    assert!(
        status.as_ref().is_ok_and(std::process::ExitStatus::success),
        "{VARIABLE}=1, but `{program} {}` does not work here ({status:?}): it takes root with the \
         right to trace and to mount, and the packages strace and util-linux",
        args.join(" ")
    );
}
