//! [`Staleness`]: for how long an agent has not stated what it is working on.

use crate::word::words;

/// Up to so many turns since the last word are no worry.
const FRESH_TURNS_MAX: u64 = 5;

/// From so many on, what the record holds of the work says little of it.
const LOUD_TURNS_MIN: u64 = 16;

words! {
    /// How old an agent's own word of its work is.
    #[derive(PartialOrd, Ord)]
    pub closed enum Staleness {
        /// 0 to 5 turns.
        Fresh = "fresh",
        /// 6 to 15 turns.
        Mild = "mild",
        /// 16 turns or more.
        Loud = "loud",
    }
}

impl Staleness {
    /// After so many turns without a word.
    pub fn of(turns_since_written: u64) -> Self {
        match turns_since_written {
            0..=FRESH_TURNS_MAX => Self::Fresh,
            LOUD_TURNS_MIN.. => Self::Loud,
            _ => Self::Mild,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_turns() {
        let of = |turns| Staleness::of(turns).as_str();
        assert_eq!([of(0), of(5)], ["fresh", "fresh"]);
        assert_eq!([of(6), of(15)], ["mild", "mild"]);
        assert_eq!([of(16), of(u64::MAX)], ["loud", "loud"]);
    }
}
