//! [`Held`]: effects of a lane that may be done only after rows are on the disk, and after the text
//! to be given has been read from there.

use std::collections::VecDeque;

/// What one lane is to release, in order, each after the write that has to be durable first. Writes
/// have ascending tokens and are answered in order.
#[derive(Debug)]
pub struct Held<T> {
    waiting: VecDeque<(u64, T)>,
    /// The last write of the lane that is not answered yet.
    unanswered: Option<u64>,
    /// Items that wait only for a read: what was released last is being read.
    behind_read: Option<VecDeque<T>>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            unanswered: None,
            behind_read: None,
        }
    }
}

impl<T> Held<T> {
    /// Rows of this lane are being written: what is held from now on waits for them.
    pub fn begin(&mut self, token: u64) {
        self.unanswered = Some(token);
    }

    /// Holds something behind every write that began before it. It comes back at once when
    /// there is nothing to wait for.
    pub fn hold(&mut self, item: T) -> Option<T> {
        match self.waits_for() {
            Some(token) => {
                self.waiting.push_back((token, item));
                None
            }
            None => self.let_out(item),
        }
    }

    /// All writes up to this one are durable: the next that may leave. To be asked until there is
    /// none.
    pub fn next_durable(&mut self, upto: u64) -> Option<T> {
        self.answered(upto);
        while let Some((_, item)) = self.waiting.pop_front_if(|(token, _)| *token <= upto) {
            if let Some(item) = self.let_out(item) {
                return Some(item);
            }
        }
        None
    }

    /// What was let out last is not at hand and is being read: nothing overtakes it. Then
    /// [`Self::next_read`] is to follow.
    pub fn begin_read(&mut self) {
        self.behind_read.get_or_insert_default();
    }

    /// What was read has left: the next that may leave, unless it is to be read as well. To be asked
    /// until there is none; with that the read is over.
    pub fn next_read(&mut self) -> Option<T> {
        let next = self.behind_read.as_mut()?.pop_front();
        if next.is_none() {
            self.behind_read = None;
        }
        next
    }

    /// It comes back unless it has to stay behind what is being read.
    fn let_out(&mut self, item: T) -> Option<T> {
        match &mut self.behind_read {
            Some(behind) => {
                behind.push_back(item);
                None
            }
            None => Some(item),
        }
    }

    /// The writes up to this one failed: what does not leave. That is also what waits for a later
    /// write, which would overtake what stood in front of it.
    pub fn take_failed(&mut self, upto: u64) -> Vec<T> {
        self.answered(upto);
        if self.waiting.front().is_none_or(|(token, _)| *token > upto) {
            return Vec::new();
        }
        self.waiting.drain(..).map(|(_, item)| item).collect()
    }

    /// The write that what is held from now on waits for.
    pub fn waits_for(&self) -> Option<u64> {
        self.unanswered
            .or_else(|| self.waiting.back().map(|(token, _)| *token))
    }

    /// What is held, in its order.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let waiting = self.waiting.iter().map(|(_, item)| item);
        self.behind_read.iter().flatten().chain(waiting)
    }

    /// How much is held, what is being read apart.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.behind_read.as_ref().map_or(0, VecDeque::len)
    }

    /// Whether nothing is held, and nothing being read.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.behind_read.is_none()
    }

    fn answered(&mut self, upto: u64) {
        self.unanswered.take_if(|token| *token <= upto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaves now, in its order.
    fn durable(held: &mut Held<char>, upto: u64) -> String {
        std::iter::from_fn(|| held.next_durable(upto)).collect()
    }

    #[test]
    fn what_has_nothing_to_wait_for_leaves_at_once() {
        let mut held = Held::default();
        assert_eq!(held.hold('a'), Some('a'));
        held.begin(1);
        assert_eq!(durable(&mut held, 1), "");
        assert_eq!(held.hold('b'), Some('b'));
        assert!(held.is_empty());
    }

    #[test]
    fn each_waits_for_its_write_and_for_what_stands_before_it() {
        let mut held = Held::default();
        held.begin(1);
        assert_eq!(held.hold('a'), None);
        assert_eq!(held.hold('b'), None);
        held.begin(2);
        assert_eq!(held.hold('c'), None);
        assert_eq!(held.len(), 3);
        assert_eq!(held.next_durable(1), Some('a'));
        // Between two that leave: it has no write of its own, and does not overtake.
        assert_eq!(held.hold('d'), None);
        assert_eq!(durable(&mut held, 1), "b");
        assert_eq!(durable(&mut held, 2), "cd");
        held.begin(3);
        assert_eq!(held.hold('e'), None);
        assert_eq!(durable(&mut held, 9), "e");
    }

    #[test]
    fn what_comes_while_others_leave_stays_behind_them() {
        let mut held = Held::default();
        held.begin(1);
        for item in ['a', 'b'] {
            assert_eq!(held.hold(item), None);
        }
        assert_eq!(held.next_durable(1), Some('a'));
        assert_eq!(held.hold('c'), None);
        assert_eq!(durable(&mut held, 1), "bc");
    }

    #[test]
    fn nothing_leaves_behind_a_failed_write() {
        let mut held = Held::default();
        held.begin(1);
        assert_eq!(held.hold('a'), None);
        held.begin(2);
        assert_eq!(held.hold('b'), None);
        assert_eq!(held.take_failed(1), ['a', 'b']);
        // The second write is still out.
        assert_eq!(held.hold('c'), None);
        assert_eq!(durable(&mut held, 2), "c");
    }

    #[test]
    fn nothing_overtakes_what_is_being_read() {
        let mut held = Held::default();
        assert_eq!(held.hold('a'), Some('a'));
        held.begin_read();
        assert!(!held.is_empty());
        // It has no write to wait for; and these have one.
        assert_eq!(held.hold('b'), None);
        held.begin(1);
        assert_eq!(held.hold('c'), None);
        held.begin(2);
        assert_eq!(held.hold('d'), None);
        assert_eq!(durable(&mut held, 1), "");
        assert_eq!(held.len(), 3);
        assert_eq!(held.iter().collect::<String>(), "bcd");
        assert_eq!(held.next_read(), Some('b'));
        // It is to be read as well.
        held.begin_read();
        assert_eq!(held.next_read(), Some('c'));
        assert_eq!(held.next_read(), None);
        assert_eq!(durable(&mut held, 2), "d");
        assert!(held.is_empty());
    }

    #[test]
    fn a_write_that_fails_hits_nothing_that_waits_for_a_read() {
        let mut held = Held::default();
        held.begin_read();
        assert_eq!(held.hold('a'), None);
        held.begin(1);
        assert_eq!(held.hold('b'), None);
        assert_eq!(held.take_failed(1), ['b']);
        assert_eq!(held.next_read(), Some('a'));
    }

    #[test]
    fn a_failure_of_others_hits_nothing_here() {
        let mut held = Held::default();
        held.begin(2);
        assert_eq!(held.hold('a'), None);
        assert_eq!(held.take_failed(1), []);
        assert_eq!(durable(&mut held, 2), "a");
        held.begin(3);
        assert_eq!(held.take_failed(3), []);
        assert_eq!(held.hold('b'), Some('b'));
    }
}
