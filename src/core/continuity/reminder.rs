//! [`reminder`]: what an agent reads that has not said for long what it is at.

/// Every so many turns without a word of its own an agent is reminded.
pub const REMIND_TURNS: u64 = 8;

/// The longest reminder, in characters.
pub const REMINDER_CHARS_MAX: usize = 200;

/// What stands behind the number of turns.
const ASKS: &str = "turns since you noted what you are at; append_note (goal, plan, next_step, \
    decision, done) keeps it for after a compaction. Only if it changed; this asks for no reply]";

/// The reminder that is due after so many turns without a word; none between.
pub fn reminder(turns_since_written: u64) -> Option<String> {
    let is_due = turns_since_written > 0 && turns_since_written.is_multiple_of(REMIND_TURNS);
    is_due.then(|| format!("[ctxrelay: {turns_since_written} {ASKS}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn it_comes_every_eight_turns_and_is_short() {
        let due: Vec<u64> = (0..=24)
            .filter(|turns| reminder(*turns).is_some())
            .collect();
        assert_eq!(due, [8, 16, 24]);
        let longest = u64::MAX - u64::MAX % REMIND_TURNS;
        let text = reminder(longest).unwrap();
        assert!(text.chars().count() <= REMINDER_CHARS_MAX, "{text}");
    }
}
