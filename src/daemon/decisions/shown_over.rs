//! [`ShownOver`]: questions that Claude's hooks showed to be over, for a hook that asks one
//! afterwards.
//!
//! A yes in Claude's own dialog does not end the hook that asks (`facts/claude-code.md` §10.1). If
//! the hook was slow, or its daemon has changed its process, it still asks when nobody can answer
//! any more.

use std::collections::VecDeque;

use crate::core::id::RuntimeSession;

/// The latest that are remembered, of all pairs. A hook looks for the next daemon for a minute at the most.
const REMEMBERED_MAX: usize = 256;

/// The latest ends that Claude's hooks have shown.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ShownOver {
    shown: VecDeque<Shown>,
}

#[derive(Debug)]
struct Shown {
    pair: RuntimeSession,
    /// The tool use that ended; `None`: a turn ended, with everything that was asked in it.
    tool_use: Option<String>,
    at_ms: i64,
}

impl ShownOver {
    /// A hook of this pair's Claude shows at this time that a use of a tool is over, or, without one,
    /// a turn.
    pub(in crate::daemon) fn note(
        &mut self,
        pair: &RuntimeSession,
        tool_use: Option<&str>,
        at_ms: i64,
    ) {
        self.shown.truncate(REMEMBERED_MAX - 1);
        self.shown.push_front(Shown {
            pair: pair.clone(),
            tool_use: tool_use.map(str::to_owned),
            at_ms,
        });
    }

    /// Whether this use of a tool, or, without one, a turn, has been shown to be over since this time.
    pub(in crate::daemon) fn is_over(
        &self,
        pair: &RuntimeSession,
        tool_use: Option<&str>,
        since_ms: i64,
    ) -> bool {
        let is_it = |shown: &Shown| shown.pair == *pair && shown.tool_use.as_deref() == tool_use;
        let mut since = self.shown.iter().filter(|shown| shown.at_ms > since_ms);
        since.any(is_it)
    }
}
