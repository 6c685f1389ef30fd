//! [`ContextMeter`]: what is known of an agent's context, and how it grows from turn to turn.
//!
//! Pure: figures and times are arguments. A figure may come late, twice or not at all.

use std::collections::VecDeque;

use crate::agent::Agent;
use crate::context_fill::{ContextFill, ContextSource};

/// So many of the latest turns say how fast the context grows.
const TURNS_OF_GROWTH: usize = 8;

/// A figure of a context, as a vendor has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReading {
    /// Tokens in the context.
    pub used: u64,
    /// Where that comes from.
    pub source: ContextSource,
    /// What fits into it, in tokens, and where that comes from.
    pub window: Option<(u64, ContextSource)>,
    /// When it was read, ms since the epoch.
    pub at_ms: i64,
}

/// What is known of one agent's context.
#[derive(Debug, Clone)]
pub struct ContextMeter {
    agent: Agent,
    latest: Option<ContextReading>,
    /// What fits into it, in tokens, as the vendor's status line says: it knows better than a table,
    /// and says so also where it does not say how full it is.
    told_window: Option<u64>,
    /// How full it was when each of the latest turns began, oldest first: since the conversation
    /// began or was compacted.
    begins: VecDeque<u64>,
    in_turn: bool,
    /// It was compacted, and how full it is since was not told.
    is_stale: bool,
    compactions: u64,
}

impl ContextMeter {
    /// Nothing is known of this agent's.
    pub fn new(agent: Agent) -> Self {
        Self {
            agent,
            latest: None,
            told_window: None,
            begins: VecDeque::new(),
            in_turn: false,
            is_stale: false,
            compactions: 0,
        }
    }

    /// Takes a figure. Returns whether that changes what is known.
    pub fn read(&mut self, reading: ContextReading) -> bool {
        // Still the figure from before the compaction: the one after it is not there yet.
        let latest = self.latest.as_ref().filter(|_| self.is_stale);
        if latest.is_some_and(|latest| latest.used == reading.used) {
            return false;
        }
        // What shrank grows from there on.
        if self
            .begins
            .back()
            .is_some_and(|begin| reading.used < *begin)
        {
            self.begins.clear();
        }
        if self.begins.is_empty() && (self.is_stale || self.compactions > 0) {
            self.begins.push_back(reading.used);
        }
        let before = self.latest.as_ref().filter(|_| !self.is_stale);
        let is_new = before
            .is_none_or(|before| (before.used, &before.window) != (reading.used, &reading.window));
        self.is_stale = false;
        self.latest = Some(reading);
        is_new
    }

    /// The vendor's status line says what fits into it, in tokens. Returns whether that is new.
    pub fn window_told(&mut self, window: u64) -> bool {
        self.told_window.replace(window) != Some(window)
    }

    /// A turn begins.
    pub fn turn_began(&mut self) {
        if std::mem::replace(&mut self.in_turn, true) {
            return;
        }
        // The first turn after a compaction begins with what the compaction left.
        if let Some(used) = self.used()
            && !(self.begins.len() == 1 && self.begins[0] == used)
        {
            self.begins.push_back(used);
            if self.begins.len() > TURNS_OF_GROWTH {
                self.begins.pop_front();
            }
        }
    }

    /// The turn is over.
    pub fn turn_ended(&mut self) {
        self.in_turn = false;
    }

    /// The vendor compacted the context. How full it is then comes as a figure of its own, before
    /// or after this.
    pub fn compacted(&mut self, left: Option<u64>) {
        self.compactions += 1;
        self.begins.clear();
        match (left, &mut self.latest) {
            (Some(left), Some(latest)) => {
                latest.used = left;
                self.begins.push_back(left);
            }
            _ => self.is_stale = true,
        }
    }

    /// Another conversation, of which nothing is known.
    pub fn began_anew(&mut self) {
        *self = Self::new(self.agent);
    }

    /// How many tokens are in the context, where that is known.
    pub fn used(&self) -> Option<u64> {
        let latest = self.latest.as_ref().filter(|_| !self.is_stale)?;
        Some(latest.used)
    }

    /// What is known, and what follows.
    pub fn fill(&self) -> ContextFill {
        let latest = self.latest.as_ref();
        let used = self.used();
        let told = self.told_window;
        let window = told
            .map(|window| (window, ContextSource::StatusLine))
            .or_else(|| latest.and_then(|latest| latest.window.clone()))
            .filter(|(window, source)| is_believable(*window, source, used));
        let tokens = window.as_ref().map(|(window, _)| *window);
        let compacts_at = tokens.map(|window| compacts_at(self.agent, window));
        ContextFill {
            used,
            window: tokens,
            percent: used.zip(tokens).map(|(used, window)| percent(used, window)),
            source: used.and(latest).map(|latest| latest.source.clone()),
            window_source: window.map(|(_, source)| source),
            at: used.and(latest).map(|latest| latest.at_ms),
            turns_left: used.zip(compacts_at).and_then(|(used, limit)| {
                let room = limit.saturating_sub(used);
                // Full is full, however it came to that.
                if room == 0 {
                    return Some(0);
                }
                let (grown, turns) = self.growth(used)?;
                Some(turns_left(room, grown, turns))
            }),
            compacts_at,
            compactions: self.compactions,
            nearly_full_since: None,
        }
    }

    /// By how many tokens it has grown in how many turns; `None` where it has not. A turn that
    /// runs does not count, unless it is the only one.
    fn growth(&self, used: u64) -> Option<(u64, u64)> {
        let (first, last) = (*self.begins.front()?, *self.begins.back()?);
        let (until, turns) = match self.begins.len() {
            count if self.in_turn && count > 1 => (last, count - 1),
            count => (used, count),
        };
        let grown = until.checked_sub(first).filter(|grown| *grown > 0)?;
        Some((grown, turns as u64))
    }
}

/// A window of a table that holds more than fits into it is another one. A vendor knows its own.
fn is_believable(window: u64, source: &ContextSource, used: Option<u64>) -> bool {
    window > 0 && (*source != ContextSource::Table || used.is_none_or(|used| used <= window))
}

fn percent(used: u64, window: u64) -> u64 {
    let percent = u128::from(used) * 100 / u128::from(window.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// How many turns fit into the room, each as large as the average of these.
fn turns_left(room: u64, grown: u64, turns: u64) -> u64 {
    let left = u128::from(room) * u128::from(turns) / u128::from(grown.max(1));
    u64::try_from(left).unwrap_or(u64::MAX)
}

/// At how many tokens the vendor compacts by itself, if the person has set nothing else.
///
/// Codex: nine tenths of the window. Claude keeps room for one answer and for the summary (2.1.330
/// compacted 970,502 tokens of a window of 1,000,000: observed).
fn compacts_at(agent: Agent, window: u64) -> u64 {
    const CLAUDE_KEEPS: u64 = 33_000;
    match agent {
        Agent::Codex => window / 10 * 9 + window % 10 * 9 / 10,
        Agent::Claude => window.saturating_sub(CLAUDE_KEEPS),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(used: u64, window: Option<u64>) -> ContextReading {
        ContextReading {
            used,
            source: ContextSource::Vendor,
            window: window.map(|window| (window, ContextSource::Vendor)),
            at_ms: 7,
        }
    }

    fn meter_at(used: u64, window: u64) -> ContextMeter {
        let mut meter = ContextMeter::new(Agent::Codex);
        meter.read(reading(used, Some(window)));
        meter
    }

    #[test]
    fn nothing_is_said_of_what_nobody_told() {
        let meter = ContextMeter::new(Agent::Claude);
        assert_eq!(meter.fill(), ContextFill::default());
        let mut meter = ContextMeter::new(Agent::Claude);
        meter.read(reading(500, None));
        let fill = meter.fill();
        assert_eq!((fill.used, fill.percent), (Some(500), None));
        assert_eq!(
            (fill.window, fill.compacts_at, fill.turns_left),
            (None, None, None)
        );
    }

    #[test]
    fn a_table_that_is_too_small_says_nothing_and_a_vendor_is_believed() {
        let mut meter = ContextMeter::new(Agent::Claude);
        meter.read(ContextReading {
            window: Some((200_000, ContextSource::Table)),
            ..reading(200_001, None)
        });
        let fill = meter.fill();
        assert_eq!((fill.used, fill.window), (Some(200_001), None));
        assert_eq!((fill.percent, fill.window_source), (None, None));

        let fill = meter_at(300, 200).fill();
        assert_eq!((fill.percent, fill.turns_left), (Some(150), Some(0)));
    }

    #[test]
    fn a_status_line_knows_the_window_better_than_a_table_also_after_a_compaction() {
        let mut meter = ContextMeter::new(Agent::Claude);
        assert!(meter.window_told(1_000_000));
        assert!(!meter.window_told(1_000_000));
        let from_table = ContextReading {
            window: Some((200_000, ContextSource::Table)),
            ..reading(150_000, None)
        };
        meter.read(from_table.clone());
        let fill = meter.fill();
        assert_eq!((fill.window, fill.percent), (Some(1_000_000), Some(15)));
        assert_eq!(fill.window_source, Some(ContextSource::StatusLine));
        meter.compacted(None);
        let fill = meter.fill();
        assert_eq!((fill.used, fill.window), (None, Some(1_000_000)));
        meter.began_anew();
        meter.read(from_table);
        assert_eq!(meter.fill().window_source, Some(ContextSource::Table));
    }

    #[test]
    fn a_compaction_ends_the_growth_and_what_it_left_is_where_the_next_one_begins() {
        let mut meter = meter_at(10_000, 100_000);
        for used in [30_000, 50_000, 70_000] {
            meter.turn_began();
            meter.read(reading(used, Some(100_000)));
            meter.turn_ended();
        }
        assert_eq!(meter.fill().turns_left, Some(1));
        meter.compacted(None);
        let fill = meter.fill();
        assert_eq!((fill.used, fill.percent, fill.at), (None, None, None));
        assert_eq!((fill.window, fill.compactions), (Some(100_000), 1));
        assert!(!meter.read(reading(70_000, Some(100_000))));
        assert_eq!(meter.fill().used, None);
        meter.read(reading(6_000, Some(100_000)));
        assert_eq!(meter.fill().turns_left, None);
        meter.turn_began();
        meter.read(reading(27_000, Some(100_000)));
        meter.turn_ended();
        assert_eq!(meter.fill().turns_left, Some(3));
    }

    #[test]
    fn a_turn_that_runs_does_not_count_before_it_is_over() {
        let mut meter = meter_at(0, 100_000);
        meter.turn_began();
        meter.read(reading(20_000, Some(100_000)));
        meter.turn_ended();
        meter.turn_began();
        meter.read(reading(21_000, Some(100_000)));
        // Of 20,000 a turn, and not of 10,500.
        assert_eq!(meter.fill().turns_left, Some(3));
        meter.began_anew();
        assert_eq!(meter.fill(), ContextFill::default());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Read(u64, Option<u64>),
        Began,
        Ended,
        Compacted(Option<u64>),
        Anew,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (any::<u64>(), any::<Option<u64>>()).prop_map(|(used, window)| Step::Read(used, window)),
            4 => (0..400_000_u64, Just(Some(258_400))).prop_map(|(used, window)| Step::Read(used, window)),
            3 => Just(Step::Began),
            3 => Just(Step::Ended),
            1 => any::<Option<u64>>().prop_map(Step::Compacted),
            1 => Just(Step::Anew),
        ]
    }

    proptest! {
        #[test]
        fn whatever_is_told_what_is_said_fits_together(
            steps in proptest::collection::vec(step(), 0..60),
            is_claude in any::<bool>(),
        ) {
            let agent = if is_claude { Agent::Claude } else { Agent::Codex };
            let mut meter = ContextMeter::new(agent);
            for step in steps {
                match step {
                    Step::Read(used, window) => { meter.read(reading(used, window)); }
                    Step::Began => meter.turn_began(),
                    Step::Ended => meter.turn_ended(),
                    Step::Compacted(left) => meter.compacted(left),
                    Step::Anew => meter.began_anew(),
                }
                let fill = meter.fill();
                prop_assert!(meter.begins.len() <= TURNS_OF_GROWTH);
                prop_assert_eq!(fill.percent.is_some(), fill.used.is_some() && fill.window.is_some());
                prop_assert!(fill.compacts_at.is_none_or(|limit| fill.window.is_some_and(|window| limit <= window)));
                prop_assert!(fill.turns_left.is_none() || fill.compacts_at.is_some());
                if fill.used >= fill.compacts_at && fill.used.is_some() && fill.compacts_at.is_some() {
                    prop_assert_eq!(fill.turns_left, Some(0));
                }
            }
        }

        /// Turns of one size: so many of them fit, and one more does not.
        #[test]
        fn as_many_turns_as_are_said_fit(
            start in 0..50_000_u64, grows in 1..30_000_u64, turns in 1..30_u64, window in 60_000..2_000_000_u64,
        ) {
            let mut meter = meter_at(start, window);
            for turn in 1..=turns {
                meter.turn_began();
                meter.read(reading(start + turn * grows, Some(window)));
                meter.turn_ended();
            }
            let fill = meter.fill();
            let (left, limit) = (fill.turns_left.unwrap(), fill.compacts_at.unwrap());
            let used = start + turns * grows;
            if used < limit {
                prop_assert!(used + left * grows <= limit);
                prop_assert!(used + (left + 1) * grows > limit);
            } else {
                prop_assert_eq!(left, 0);
            }
        }
    }
}
