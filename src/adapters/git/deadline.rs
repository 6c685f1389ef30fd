//! [`GitDeadline`]: the deadline for git.

use std::time::{Duration, Instant};

/// How long one `git` may take; a very large tree then simply has no state.
const EACH: Duration = Duration::from_secs(20);

/// Until when all that git is asked for one answer may take. What was not told by then is not known:
/// who makes the answer says so.
#[derive(Debug, Clone, Copy)]
pub struct GitDeadline(Option<Instant>);

impl GitDeadline {
    /// Nobody waits for all of it together.
    pub const NONE: Self = Self(None);

    /// So long from now on.
    pub fn within(wait: Duration) -> Self {
        Self(Some(Instant::now() + wait))
    }

    pub fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    /// Git is asked no more.
    pub fn is_over(self) -> bool {
        self.0.is_some_and(|until| Instant::now() >= until)
    }

    /// When a `git` is ended that begins now.
    pub(in crate::adapters) fn end(self) -> Instant {
        let own = Instant::now() + EACH;
        self.0.map_or(own, |until| until.min(own))
    }
}
