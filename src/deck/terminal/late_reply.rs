//! [`LateReply`]: a terminal's reply about its colours that arrives after the wait for it has
//! ended, kept from being taken for keys.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A reply comes in one piece; a person does not type that fast.
const TOGETHER: Duration = Duration::from_millis(30);

/// The longest reply: `]11;rgb:ffff/ffff/ffff` and its end.
const KEYS_MAX: usize = 32;

/// How late a reply may come. Later the key with which one begins is a person's.
const LATEST: Duration = Duration::from_secs(5);

/// The state of the input: in a reply or not.
#[derive(Debug)]
pub(in crate::deck) struct LateReply {
    begun: Instant,
    /// Keys of it so far, and when the last one came.
    so_far: Option<(usize, Instant)>,
}

impl LateReply {
    /// The screen was taken at `now`.
    pub(in crate::deck) fn new(now: Instant) -> Self {
        Self {
            begun: now,
            so_far: None,
        }
    }

    /// Whether this key, which came at `now`, is a piece of a reply. Such a one begins with
    /// `ESC ]`, which reads as `alt-]`, and ends in BEL (`ctrl-g`) or `ESC \` (`alt-\`).
    pub(in crate::deck) fn takes(&mut self, key: &KeyEvent, now: Instant) -> bool {
        let KeyCode::Char(letter) = key.code else {
            self.so_far = None;
            return false;
        };
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_early = now.saturating_duration_since(self.begun) < LATEST;
        if is_alt && letter == ']' && is_early {
            self.so_far = Some((0, now));
            return true;
        }
        let Some((keys, last)) = self.so_far.take() else {
            return false;
        };
        if now.saturating_duration_since(last) > TOGETHER || keys >= KEYS_MAX {
            return false;
        }
        let is_end = (is_ctrl && letter == 'g') || (is_alt && letter == '\\');
        if !is_end {
            self.so_far = Some((keys + 1, now));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::LateReply;

    fn key(letter: char, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(letter), modifiers)
    }

    #[test]
    fn a_reply_is_taken_whole_and_the_key_behind_it_counts() {
        let now = Instant::now();
        for (end, modifiers) in [('g', KeyModifiers::CONTROL), ('\\', KeyModifiers::ALT)] {
            let mut late = LateReply::new(now);
            assert!(late.takes(&key(']', KeyModifiers::ALT), now));
            for letter in "11;rgb:1e1e/1e1e/2e2e".chars() {
                assert!(
                    late.takes(&key(letter, KeyModifiers::NONE), now),
                    "{letter}"
                );
            }
            assert!(late.takes(&key(end, modifiers), now));
            assert!(!late.takes(&key('q', KeyModifiers::NONE), now));
        }
    }

    #[test]
    fn what_a_person_types_behind_the_same_key_is_typed() {
        let now = Instant::now();
        let mut late = LateReply::new(now);
        assert!(late.takes(&key(']', KeyModifiers::ALT), now));
        let later = now + Duration::from_millis(80);
        assert!(!late.takes(&key('q', KeyModifiers::NONE), later));
        assert!(!late.takes(&key('1', KeyModifiers::NONE), later));
        let much_later = now + Duration::from_secs(6);
        assert!(!late.takes(&key(']', KeyModifiers::ALT), much_later));
    }
}
