//! [`LadderTimeouts`]: how long things about Claude may take.

/// The deadlines of the lane to Claude, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderTimeouts {
    /// An idle Claude that was notified and does nothing for this long was not reached.
    pub idle_ms: i64,
    /// How long requested bodies may take until they count as taken or not. The call that fetched
    /// them reports within milliseconds, unless its process died.
    pub claim_ms: i64,
    /// For this long no hook carries a message that was pushed: the two would cross.
    pub push_ms: i64,
    /// A bridge without a doorbell waits this long for it before it tries its channel: the plugin
    /// starts both at nearly the same time.
    pub bell_ms: i64,
    /// After a client's outlet was full it is tried again after this long.
    pub outlet_ms: i64,
    /// A message without an attempt for this long expires; `None`: never.
    pub expiry_ms: Option<i64>,
}

impl Default for LadderTimeouts {
    fn default() -> Self {
        Self {
            idle_ms: 20_000,
            claim_ms: 5_000,
            push_ms: 1_000,
            bell_ms: 2_000,
            outlet_ms: 1_000,
            expiry_ms: None,
        }
    }
}
