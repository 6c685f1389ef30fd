//! [`age`]: how long a process has been running.

use std::time::Duration;

/// How long a process has been running, the time in which the machine sleeps included; `None` when
/// there is no such process, or when it has ended and nobody has taken its status.
#[cfg(target_os = "linux")]
pub fn age(pid: u32) -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};

    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = super::fields(&stat)?;
    if *fields.first()? == "Z" {
        return None;
    }
    let started: u64 = fields.get(19)?.parse().ok()?;
    let started = Duration::from_millis(started.checked_mul(1_000 / TICKS_PER_SECOND)?);
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).ok()?;
    Some(now.saturating_sub(started))
}

/// The unit in which `/proc` tells times, on every architecture that this program is built for.
#[cfg(target_os = "linux")]
const TICKS_PER_SECOND: u64 = 100;

/// How long a process has been running; `None` when there is no such process.
#[cfg(not(target_os = "linux"))]
pub fn age(pid: u32) -> Option<Duration> {
    elapsed(super::ps("etime=", pid)?.trim())
}

/// A time as `ps` puts it: `[[days-]hours:]minutes:seconds`.
#[cfg(any(test, not(target_os = "linux")))]
fn elapsed(said: &str) -> Option<Duration> {
    let (days, clock) = said.split_once('-').unwrap_or(("0", said));
    let mut seconds = days.parse::<u64>().ok()?;
    let parts: Vec<&str> = clock.split(':').collect();
    let missing = 3_usize.checked_sub(parts.len())?;
    let parts = std::iter::repeat_n("0", missing).chain(parts);
    for (part, per_whole) in parts.zip([24, 60, 60]) {
        let part: u64 = part.parse().ok()?;
        seconds = seconds.checked_mul(per_whole)?.checked_add(part)?;
    }
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_younger_than_this_process_and_has_no_age_once_it_has_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let of_child = age(child.id()).unwrap();
        assert!(of_child <= age(std::process::id()).unwrap());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(age(child.id()), None);
    }

    #[test]
    fn what_ps_says_is_read_with_and_without_hours_and_days() {
        for (said, seconds) in [
            ("00:07", Some(7)),
            ("12:07", Some(727)),
            ("01:00:07", Some(3_607)),
            ("2-01:00:07", Some(176_407)),
            ("", None),
            ("1:2:3:4", None),
            ("a-00:07", None),
        ] {
            assert_eq!(elapsed(said), seconds.map(Duration::from_secs), "{said}");
        }
    }
}
