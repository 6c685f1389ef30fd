//! [`Clock`]: the time that the delivery machines are given.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::core::delivery::Moment;
use crate::core::id::AttemptId;

/// Less than that is no sleep: by so much no deadline matters.
const ASLEEP_MIN_MS: i64 = 1_000;

/// By less than that nobody sets a wall clock for whom it matters: it is drawn to the right time.
const SET_MIN_MS: i64 = 60_000;

/// How often a loop that nothing wakes looks whether the machine has slept or its clock was set: what
/// it waits for stands still meanwhile.
pub(in crate::daemon) const LOOK_FOR_SLEEP: Duration = Duration::from_secs(60);

/// Starts with the wall clock and is steady from then on: a wall clock that jumps moves no
/// deadline. It stands still while the machine sleeps, and so does whatever is waited for. What
/// ends by an outside clock, such as a usage limit, or belongs to a day uses [`Self::outside_ms`].
///
/// Not every sleep can be measured: only on Linux, and not if a virtual machine is paused. The wall
/// clock is set afterwards, as it is when it was wrong.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_ms: i64,
    start: Instant,
    /// For how long the machine had slept, as far as the clock knows.
    asleep_ms: i64,
    /// How far outside time is ahead of this clock: the machine's sleep since the start, plus any
    /// change of its wall clock.
    ahead_ms: i64,
    /// By how much the wall clock differs from the machine's.
    #[cfg(test)]
    wall_off_ms: i64,
}

impl Clock {
    /// Starts with the wall clock of now.
    pub fn start() -> Self {
        Self {
            wall_ms: now_ms(),
            start: Instant::now(),
            asleep_ms: asleep_ms(),
            ahead_ms: 0,
            #[cfg(test)]
            wall_off_ms: 0,
        }
    }

    /// Learns what the machine has slept since it was last asked, and by what its wall clock was set.
    /// By how much the time of others jumps, ms: back, where the clock was set back.
    pub(in crate::daemon) fn catch_up(&mut self) -> Option<i64> {
        let wall_ms = self.now_ms().saturating_add(self.wall_ahead_ms());
        self.catch_up_with(asleep_ms(), wall_ms)
    }

    /// The same; `asleep_ms`: for how long the machine has slept since it was started.
    fn catch_up_with(&mut self, asleep_ms: i64, wall_ms: i64) -> Option<i64> {
        let before_ms = self.ahead_ms;
        let slept_ms = asleep_ms.saturating_sub(self.asleep_ms);
        if slept_ms >= ASLEEP_MIN_MS {
            self.asleep_ms = asleep_ms;
            self.ahead_ms = self.ahead_ms.saturating_add(slept_ms);
        }
        // A sleep that was measured has moved the wall clock too.
        let set_ms = wall_ms.saturating_sub(self.outside_ms());
        if set_ms.saturating_abs() >= SET_MIN_MS {
            self.ahead_ms = self.ahead_ms.saturating_add(set_ms);
        }
        let jumped_ms = self.ahead_ms.saturating_sub(before_ms);
        (jumped_ms != 0).then_some(jumped_ms)
    }

    /// Has the machine sleep, and wake up.
    #[cfg(test)]
    pub fn sleep(&mut self, ms: i64) {
        self.asleep_ms -= ms;
        self.wall_off_ms += ms;
    }

    /// Sets the wall clock, forward or back, as after a sleep that nothing measures.
    #[cfg(test)]
    pub fn set_wall(&mut self, by_ms: i64) {
        self.wall_off_ms += by_ms;
    }

    /// Lets time pass at once.
    #[cfg(test)]
    pub fn pass(&mut self, ms: i64) {
        self.wall_ms += ms;
        self.wall_off_ms += ms;
    }

    pub fn now_ms(self) -> i64 {
        let since = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.wall_ms.saturating_add(since)
    }

    /// How far the wall clock is ahead of this one, ms. The clock of the process after this one
    /// starts with the wall: what is left to that is later there by so much.
    pub(in crate::daemon) fn wall_ahead_ms(self) -> i64 {
        let wall_ms = now_ms();
        #[cfg(test)]
        let wall_ms = wall_ms + self.wall_off_ms;
        wall_ms.saturating_sub(self.now_ms())
    }

    /// When it was, so long ago.
    pub(in crate::daemon) fn ago(self, ms: u64) -> i64 {
        self.now_ms().saturating_sub_unsigned(ms)
    }

    /// When it was here, what another program dates by the wall clock: right for what came since the
    /// machine slept last.
    pub(in crate::daemon) fn of_wall(self, at_ms: i64) -> i64 {
        at_ms.saturating_sub(now_ms().saturating_sub(self.now_ms()))
    }

    /// The time of the vendors and of the operator, which goes on while the machine sleeps. Back only
    /// where the wall clock is set back.
    pub(in crate::daemon) fn outside_ms(self) -> i64 {
        self.now_ms().saturating_add(self.ahead_ms)
    }

    /// When it is so late there, for waiting. What is past is now.
    pub(in crate::daemon) fn instant_outside(self, at_ms: i64) -> Instant {
        self.instant(at_ms.saturating_sub(self.ahead_ms))
    }

    /// Now, and an id that nothing has.
    pub(in crate::daemon) fn moment(self) -> Moment {
        let now_ms = self.now_ms();
        Moment {
            now_ms,
            attempt: fresh_attempt(now_ms),
        }
    }

    /// When that is, for waiting. What is past is now.
    pub fn instant(self, at_ms: i64) -> Instant {
        // A millisecond later: the steady clock is cut to whole ones.
        let since = at_ms.saturating_sub(self.wall_ms).saturating_add(1);
        self.start + Duration::from_millis(u64::try_from(since).unwrap_or(0))
    }
}

/// Each input of a machine brings a fresh id, and few of them begin an attempt: random bytes are
/// read from the system once in a process, and a counter tells its ids apart.
fn fresh_attempt(now_ms: i64) -> AttemptId {
    static RANDOM: LazyLock<[u8; 16]> = LazyLock::new(|| *Uuid::new_v4().as_bytes());
    static COUNTER: AtomicU32 = AtomicU32::new(0);

    let counter = COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut bytes = [0; 10];
    bytes[..4].copy_from_slice(&counter);
    bytes[4..].copy_from_slice(&RANDOM[10..]);
    let ms = u64::try_from(now_ms).unwrap_or(0);
    let id = uuid::Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid();
    AttemptId::new(id.to_string())
}

/// Wall clock, ms since the epoch.
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}

/// For how long the machine has slept since it was started, at least, ms. What is measured between
/// two readings of the steady clock is never too much.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn asleep_ms() -> i64 {
    use rustix::time::{ClockId, clock_gettime};

    /// Longer between the two readings, and this thread was put aside: once more.
    const APART_NS: i128 = 1_000_000;
    const TRIES: usize = 5;

    let ns = |id| {
        let at = clock_gettime(id);
        i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec)
    };
    let mut asleep_ns = 0;
    for _ in 0..TRIES {
        let before = ns(ClockId::Monotonic);
        let since_boot = ns(ClockId::Boottime);
        let after = ns(ClockId::Monotonic);
        asleep_ns = asleep_ns.max(since_boot - after);
        if after - before < APART_NS {
            break;
        }
    }
    i64::try_from(asleep_ns / 1_000_000).unwrap_or(0)
}

/// Where the steady clock cannot be told from one that goes on, the wall clock tells.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn asleep_ms() -> i64 {
    0
}

/// Enough to tell sessions of one millisecond apart.
pub(in crate::daemon) fn rand_u32() -> u32 {
    Uuid::new_v4().as_fields().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_the_machine_sleeps_the_time_of_others_goes_on_and_ours_does_not() {
        const NIGHT_MS: i64 = 28_800_000;
        let mut clock = Clock::start();
        let (began, asleep) = (clock.outside_ms(), clock.asleep_ms);
        assert!((0..60_000).contains(&(began - clock.now_ms())));
        let due_ms = began + 3_600_000;
        assert!(clock.instant_outside(due_ms) > Instant::now());
        let wall_ms = clock.outside_ms() + NIGHT_MS;
        let jumped = clock.catch_up_with(asleep + NIGHT_MS, wall_ms);
        assert_eq!(jumped, Some(NIGHT_MS));
        assert!((NIGHT_MS..NIGHT_MS + 60_000).contains(&(clock.outside_ms() - began)));
        assert!(clock.instant_outside(due_ms) <= Instant::now());
        assert!(clock.now_ms() < due_ms && clock.instant(due_ms) > Instant::now());
        // Once.
        let wall_ms = clock.outside_ms();
        assert_eq!(clock.catch_up_with(asleep + NIGHT_MS, wall_ms), None);
        let jumped = clock.catch_up_with(asleep + NIGHT_MS + 2_000, wall_ms + 2_000);
        assert_eq!(jumped, Some(2_000));
    }

    #[test]
    fn a_moment_of_sleep_is_none_and_neither_is_a_clock_that_is_drawn_to_the_right_time() {
        let mut clock = Clock::start();
        let (began, asleep) = (clock.outside_ms(), clock.asleep_ms);
        let wall_ms = clock.outside_ms();
        assert_eq!(clock.catch_up_with(asleep - 60_000, wall_ms), None);
        for moment in [400, 800] {
            assert_eq!(clock.catch_up_with(asleep + moment, wall_ms), None);
        }
        for drawn in [-30_000, 30_000] {
            assert_eq!(clock.catch_up_with(asleep, wall_ms + drawn), None);
        }
        // Moments add up.
        let jumped = clock.catch_up_with(asleep + 1_200, wall_ms + 1_200);
        assert_eq!(jumped, Some(1_200));
        assert!(clock.outside_ms() >= began + 1_200);
    }

    #[test]
    fn the_time_of_others_follows_a_wall_clock_that_is_set_and_ours_never_goes_back() {
        const HOURS_MS: i64 = 6 * 3_600_000;
        let mut clock = Clock::start();
        let (began, asleep) = (clock.now_ms(), clock.asleep_ms);
        let due_ms = began + 3_600_000;
        // A sleep that nothing measures.
        assert!(clock.catch_up_with(asleep, began + HOURS_MS).is_some());
        assert!((HOURS_MS..HOURS_MS + 60_000).contains(&(clock.outside_ms() - began)));
        assert!(clock.instant_outside(due_ms) <= Instant::now());
        assert!(clock.instant(due_ms) > Instant::now());
        // It was wrong by more than that.
        let steady = clock.now_ms();
        let jumped = clock.catch_up_with(asleep, began - HOURS_MS);
        assert!(jumped.is_some_and(|jumped_ms| jumped_ms <= -2 * HOURS_MS));
        assert!(clock.now_ms() >= steady);
        assert!(clock.outside_ms() < began - HOURS_MS + 60_000);
        assert!(clock.instant_outside(due_ms) > Instant::now());
        let wall_ms = clock.outside_ms();
        assert_eq!(clock.catch_up_with(asleep, wall_ms), None);
    }

    #[test]
    fn a_machine_that_is_awake_has_not_slept() {
        let mut clock = Clock::start();
        assert_eq!(clock.catch_up(), None);
        clock.pass(3_600_000);
        assert_eq!(clock.catch_up(), None);
    }
}
