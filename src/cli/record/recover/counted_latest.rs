//! [`CountedLatest`]: the last of many, and their number.

use std::collections::VecDeque;

/// The latest items, oldest first, and the number of all.
#[derive(Debug)]
pub(super) struct CountedLatest<T> {
    kept: VecDeque<T>,
    total: usize,
    max: usize,
}

impl<T> CountedLatest<T> {
    /// Keeps so many.
    pub(super) fn new(max: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            total: 0,
            max,
        }
    }

    pub(super) fn push(&mut self, item: T) {
        if self.kept.len() == self.max {
            self.kept.pop_front();
        }
        self.kept.push_back(item);
        self.total += 1;
    }

    /// Takes back what turned out not to be one of them.
    pub(super) fn take_back(&mut self, is_it: impl Fn(&T) -> bool) {
        let before = self.kept.len();
        self.kept.retain(|kept| !is_it(kept));
        self.total -= before - self.kept.len();
    }

    /// Those that are kept, oldest first.
    pub(super) fn iter(&self) -> std::collections::vec_deque::Iter<'_, T> {
        self.kept.iter()
    }

    /// How many there were.
    pub(super) fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_and_all_are_counted() {
        let mut latest = CountedLatest::new(2);
        for item in 1..=5 {
            latest.push(item);
        }
        assert!(latest.iter().eq(&[4, 5]));
        assert_eq!(latest.total(), 5);
        latest.take_back(|item| *item == 4);
        assert!(latest.iter().eq(&[5]));
        assert_eq!(latest.total(), 4);
    }
}
