//! [`owner`]: the process that holds a project's lock; [`becomes_free`]: waits for its end.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;
use tokio::time::{sleep, timeout};

use crate::store::dirs::{ProjectDirs, open_private, read_private};
use crate::store::owner::is_free;
use crate::store::published::Published;

/// How often the lock is looked at. There is no event for the end of a process that is not our
/// child.
const LOOK: Duration = Duration::from_millis(20);

/// More than a process id is long.
const PID_BYTES_MAX: u64 = 64;

/// Waits until nobody has the owner's lock; whether that came in time.
pub(in crate::cli) async fn becomes_free(dirs: &ProjectDirs, wait: Duration) -> bool {
    let free = async {
        while !is_free(dirs) {
            sleep(LOOK).await;
        }
    };
    timeout(wait, free).await.is_ok()
}

/// The process that has the lock; `None` when it cannot be told for certain, which needs `/proc`.
pub(in crate::cli) fn owner(dirs: &ProjectDirs) -> Option<Pid> {
    let lock = open_private(&dirs.state_file("daemon.lock")).ok()?;
    let lock = lock.metadata().ok()?;
    named_owners(dirs).find(|pid| has_lock(*pid, &lock))
}

/// Whom the files name. That proves nothing: an agent can write them, the number may be somebody
/// else's by now, and a successor that failed has signed the lock as well.
pub(in crate::cli) fn named_owners(dirs: &ProjectDirs) -> impl Iterator<Item = Pid> {
    let signed = read_private(&dirs.state_file("daemon.lock"), PID_BYTES_MAX)
        .ok()
        .and_then(|text| String::from_utf8(text).ok()?.trim().parse::<u32>().ok());
    let published = Published::read(dirs).map(|published| published.pid);
    [signed, published]
        .into_iter()
        .flatten()
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
}

/// Whether a process has the lock, which belongs to an open file: one of its descriptors is of this
/// file, and the system says of it that it is locked.
fn has_lock(pid: Pid, lock: &Metadata) -> bool {
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    descriptors.flatten().any(|descriptor| {
        // Through the link, to what is open, whatever its name is by now.
        let is_lock_file = fs::metadata(descriptor.path())
            .is_ok_and(|open| (open.dev(), open.ino()) == (lock.dev(), lock.ino()));
        is_lock_file
            && fs::read_to_string(process.join("fdinfo").join(descriptor.file_name()))
                .is_ok_and(|about| about.lines().any(says_locked))
    })
}

/// A line of `/proc/PID/fdinfo/FD`: `lock: 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`.
fn says_locked(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("lock:")
        && words.any(|word| word == "FLOCK")
        && words.any(|word| word == "WRITE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::Place;

    #[test]
    fn a_number_that_is_none_names_nobody() {
        let place = Place::new();
        for text in ["", "0\n", "-1\n", "4294967295\n", "1 2\n", &"1".repeat(99)] {
            fs::write(place.dirs.state_file("daemon.lock"), text).unwrap();
            assert_eq!(named_owners(&place.dirs).next(), None, "{text:?}");
        }
    }

    #[test]
    fn only_a_lock_to_write_counts() {
        assert!(says_locked(
            "lock:\t1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"
        ));
        for line in [
            "lock:\t1: FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF",
            "lock:\t1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF",
            "flags:\t0100000",
            "",
        ] {
            assert!(!says_locked(line), "{line}");
        }
    }
}
