//! Waiting for named conditions. A test never sleeps and hopes: it names the condition, and a wait
//! that times out reports it with the last state seen.

use std::time::{Duration, Instant};

/// How often a condition is looked at. Short beside the 100 ms that an agent's turn takes, and long
/// beside what an agent takes for one paste: keys that follow what was waited for are keys of their own.
const POLL: Duration = Duration::from_millis(15);

/// After which a program's answer is looked for first; most come in a millisecond.
const SOON: Duration = Duration::from_millis(1);

/// How often a daemon is asked: to answer costs the time of what is awaited.
const ASK: Duration = Duration::from_millis(50);

/// The longest pause behind a look that itself takes long.
const RARELY: Duration = Duration::from_millis(150);

/// The one patience of all tests, in seconds; `CTXRELAY_TEST_TIMEOUT_S` changes it.
const DEFAULT_TIMEOUT_S: u64 = 45;

/// How long a test waits for a condition that ought to come true.
pub fn timeout() -> Duration {
    let seconds = std::env::var("CTXRELAY_TEST_TIMEOUT_S")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(DEFAULT_TIMEOUT_S);
    Duration::from_secs(seconds)
}

/// Looks until `poll` gives something, at most for `deadline`.
pub fn poll_until<T>(deadline: Duration, poll: impl FnMut() -> Option<T>) -> Option<T> {
    look_until(deadline, |_| POLL, poll)
}

/// As [`poll_until`], for what a program answers or how it ends: it is looked for sooner where little
/// time has passed.
pub fn poll_soon<T>(deadline: Duration, poll: impl FnMut() -> Option<T>) -> Option<T> {
    look_until(deadline, |waited| (waited / 8).clamp(SOON, POLL), poll)
}

fn look_until<T>(
    deadline: Duration,
    pause: impl Fn(Duration) -> Duration,
    mut poll: impl FnMut() -> Option<T>,
) -> Option<T> {
    let start = Instant::now();
    loop {
        let look = Instant::now();
        if let Some(found) = poll() {
            return Some(found);
        }
        let waited = start.elapsed();
        if waited >= deadline {
            return None;
        }
        // A look that starts a process costs the time of what is awaited.
        let cost = look.elapsed().min(RARELY);
        std::thread::sleep(pause(waited).max(cost));
    }
}

/// Looks until `poll` gives something; panics with the condition's name when `deadline` has passed.
#[track_caller]
pub fn wait_until<T>(what: &str, deadline: Duration, poll: impl FnMut() -> Option<T>) -> T {
    match poll_until(deadline, poll) {
        Some(found) => found,
        None => panic!("waited {} s in vain for: {what}", deadline.as_secs_f32()),
    }
}

/// As [`wait_until`], for what a daemon is asked for each time.
#[track_caller]
pub fn wait_asking<T>(what: &str, deadline: Duration, poll: impl FnMut() -> Option<T>) -> T {
    match look_until(deadline, |_| ASK, poll) {
        Some(found) => found,
        None => panic!("waited {} s in vain for: {what}", deadline.as_secs_f32()),
    }
}

/// Watches for a whole `span` that nothing comes; for the rare "and nothing else happens".
#[track_caller]
pub fn never_within<T: std::fmt::Debug>(
    what: &str,
    span: Duration,
    poll: impl FnMut() -> Option<T>,
) {
    if let Some(found) = poll_until(span, poll) {
        panic!("should not have happened: {what}: {found:?}");
    }
}
