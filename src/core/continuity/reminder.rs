//! [`reminder`]: what an agent reads when it has not stated for long what it is working on.

/// Every so many turns without a word of its own an agent is reminded.
pub const REMIND_TURNS: u64 = 8;

/// The longest reminder, in characters.
pub const REMINDER_CHARS_MAX: usize = 200;

/// What stands behind the number of turns.
const ASKS: &str = "turns since you noted what you are at; append_note (goal, plan, next_step, \
    decision, done) keeps it for after a compaction. Only if it changed; this asks for no reply]";

/// The reminder that is due after so many turns without a word, so many after the one before.
pub fn reminder(turns_since_written: u64, turns_since_reminded: u64) -> Option<String> {
    let is_due = turns_since_written.min(turns_since_reminded) >= REMIND_TURNS;
    is_due.then(|| format!("[ctxrelay: {turns_since_written} {ASKS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_after_eight_turns_and_is_short() {
        for (written, reminded) in [(0, u64::MAX), (7, u64::MAX), (8, 7), (100, 0)] {
            assert_eq!(reminder(written, reminded), None);
        }
        assert!(reminder(8, 8).is_some());
        let text = reminder(u64::MAX, u64::MAX).unwrap();
        assert!(text.chars().count() <= REMINDER_CHARS_MAX, "{text}");
    }
}
