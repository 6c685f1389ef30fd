//! [`Walk`]: steps along the index, folding rows of the machine and of reviews into one; and
//! [`Sieve`]: a query in terms of the index's codes.

use std::collections::BTreeSet;

use super::index::{EntryIndex, SlotWords};
use super::names::{NONE, OTHER};
use super::slots::{Slot, Slots};
use ctxrelay_core::agent::Party;
use ctxrelay_core::row_class::{MachineRow, RowClass};
use ctxrelay_core::wire::window::{MachineRun, RowQuery};

/// Pieces that one step of a walk gives at most: what stands behind them is read meanwhile.
const PIECES_AT_ONCE: usize = 256;

/// A query, as codes.
pub(super) struct Sieve {
    query: RowQuery,
    /// The class of each code; `None` for a word without one.
    classes: Vec<Option<RowClass>>,
    /// Whether the code of a source, and of a target, is that of a wanted party.
    sources: Vec<bool>,
    targets: Vec<bool>,
    humans: Vec<bool>,
}

impl Sieve {
    pub(super) fn new(query: &RowQuery, words: &SlotWords) -> Self {
        let mut classes = vec![None; 256];
        for (code, word) in words.types.iter() {
            classes[usize::from(code)] = Some(RowClass::of_word(word));
        }
        let wanted = |names: &super::names::Names| {
            let mut codes = vec![query.parties.is_empty(); 256];
            for (code, word) in names.iter() {
                let party = Party::from(word.to_owned());
                codes[usize::from(code)] |= query.parties.contains(&party);
            }
            // What has no word of its own has to be read.
            codes[usize::from(OTHER)] = true;
            codes[usize::from(NONE)] = query.parties.is_empty();
            codes
        };
        let mut humans = vec![false; 256];
        for (code, word) in words.sources.iter() {
            humans[usize::from(code)] = word == Party::Human.as_str();
        }
        Self {
            classes,
            sources: wanted(&words.sources),
            targets: wanted(&words.targets),
            humans,
            query: query.clone(),
        }
    }

    pub(super) fn class(&self, slot: &Slot) -> Option<RowClass> {
        self.classes[usize::from(slot.codes[0])]
    }

    /// Whether the query may want it.
    pub(super) fn takes(&self, slot: &Slot, waiting: &BTreeSet<u64>) -> bool {
        let waits = || waiting.contains(&u64::from(slot.seq));
        let class = self.class(slot);
        let [_, source, target, _] = slot.codes.map(usize::from);
        class.is_none_or(|class| self.query.takes_class(class, waits))
            && (self.sources[source] || self.targets[target])
            && self.query.takes_time(slot.at_ms)
    }

    pub(super) fn is_landmark(&self, slot: &Slot) -> bool {
        let source = if self.humans[usize::from(slot.codes[1])] {
            Party::Human
        } else {
            Party::System
        };
        self.class(slot)
            .is_some_and(|class| class.is_landmark(&source))
    }

    /// What stands out: `true` for a failure, `false` for a decision.
    pub(super) fn mark(&self, slot: &Slot) -> Option<bool> {
        let class = self.class(slot)?;
        let is_landmark = class.is_landmark(&Party::System);
        is_landmark.then(|| class.result == Some(ctxrelay_core::row_class::RowResult::Failed))
    }

    fn machine(&self, slot: &Slot) -> Option<(RowClass, MachineRow)> {
        let class = self.class(slot)?;
        let machine = class.machine.filter(|_| self.query.folds())?;
        Some((class, machine))
    }

    /// The first line of the run that the entry at this place is a part of.
    pub(super) fn run_start(&self, slots: &Slots, place: usize) -> Option<u64> {
        let (_, machine) = self.machine(&slots.at(place))?;
        let joins = |(_, before): (RowClass, MachineRow)| before.folds_with(machine);
        let nothing = BTreeSet::new();
        let mut first = place;
        for before in (0..place).rev() {
            let slot = slots.at(before);
            let follows = u64::from(slot.seq) + 1 == u64::from(slots.at(before + 1).seq);
            let is_bad_shown = !follows && self.query.takes_bad_lines();
            if is_bad_shown || !self.machine(&slot).is_some_and(joins) {
                break;
            }
            if self.takes(&slot, &nothing) {
                first = before;
            }
        }
        Some(slots.at(first).seq.into())
    }
}

/// A row before it is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece {
    Entry(Slot),
    Machine(MachineRun),
    Bad { first: u64, last: u64, at_ms: i64 },
}

impl Piece {
    /// The line from which a walk in this direction comes to it.
    pub(super) fn near_end(&self, ascending: bool) -> u64 {
        let (first, last) = match self {
            Self::Entry(slot) => (slot.seq.into(), slot.seq.into()),
            Self::Machine(run) => (run.first, run.last),
            Self::Bad { first, last, .. } => (*first, *last),
        };
        if ascending {
            first.saturating_sub(1)
        } else {
            last + 1
        }
    }
}

/// The state of a walk.
pub(super) struct Walk {
    cursor: u64,
    ascending: bool,
    /// The walk does not go below this line.
    floor: u64,
    /// The run that has not ended yet, and an entry of it.
    run: Option<(MachineRun, Slot)>,
    /// The kind of the run that the walk is in, wanted or not.
    within: Option<MachineRow>,
    /// Whether that run is shown entry by entry.
    is_open: Option<bool>,
    is_done: bool,
}

impl Walk {
    /// From this line, which is not a part of it.
    pub(super) fn new(cursor: u64, ascending: bool, floor: u64) -> Self {
        Self {
            cursor,
            ascending,
            floor,
            run: None,
            within: None,
            is_open: None,
            is_done: false,
        }
    }

    /// Nothing comes after what was given.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next pieces, in the order of the walk; there may be none yet.
    pub(super) fn next(
        &mut self,
        index: &EntryIndex,
        sieve: &Sieve,
        waiting: &BTreeSet<u64>,
        unfolded: &[u64],
        look_max: usize,
    ) -> Vec<Piece> {
        let slots = index.slots();
        let len = slots.len();
        let mut pieces = Vec::new();
        let start = if self.ascending {
            slots.count_below(self.cursor.saturating_add(1))
        } else {
            slots.count_below(self.cursor)
        };
        let bad = sieve.query.takes_bad_lines();
        if !self.ascending && start < len && bad && self.cursor != u64::MAX {
            // Between the cursor and the entry before it.
            let below = start.checked_sub(1).map_or(0, |at| slots.at(at).seq.into());
            self.gap(
                &mut pieces,
                sieve,
                below,
                self.cursor,
                slots.at(start).at_ms,
            );
        }
        let places: Box<dyn Iterator<Item = usize>> = if self.ascending {
            Box::new(start..len)
        } else {
            Box::new((0..start).rev())
        };
        for (looked, place) in places.enumerate() {
            if looked == look_max || pieces.len() >= PIECES_AT_ONCE {
                return pieces;
            }
            let slot = slots.at(place);
            if !self.ascending && u64::from(slot.seq) < self.floor {
                break;
            }
            let below = place.checked_sub(1).map_or(0, |at| slots.at(at).seq.into());
            if self.ascending && bad {
                let below = below.max(self.cursor);
                self.gap(&mut pieces, sieve, below, slot.seq.into(), slot.at_ms);
            }
            self.step(&mut pieces, sieve, slots, place, waiting, unfolded);
            self.cursor = slot.seq.into();
            if !self.ascending && bad {
                self.gap(&mut pieces, sieve, below, slot.seq.into(), slot.at_ms);
                // Not again when the walk goes on from here.
                self.cursor = self.cursor.min(below + 1);
            }
        }
        self.end_run(&mut pieces);
        self.is_done = true;
        pieces
    }

    fn step(
        &mut self,
        pieces: &mut Vec<Piece>,
        sieve: &Sieve,
        slots: &Slots,
        place: usize,
        waiting: &BTreeSet<u64>,
        unfolded: &[u64],
    ) {
        let slot = slots.at(place);
        let is_taken = sieve.takes(&slot, waiting);
        let Some((class, machine)) = sieve.machine(&slot) else {
            self.end_run(pieces);
            if is_taken {
                pieces.push(Piece::Entry(slot));
            }
            return;
        };
        if !self.within.is_some_and(|within| within.folds_with(machine)) {
            self.end_run(pieces);
            self.within = Some(machine);
        }
        if !is_taken {
            return;
        }
        // One answer for the whole run: its beginning may be far away.
        let is_open = *self.is_open.get_or_insert_with(|| {
            let is_one = |first| unfolded.contains(&first);
            !unfolded.is_empty() && sieve.run_start(slots, place).is_some_and(is_one)
        });
        if is_open {
            pieces.push(Piece::Entry(slot));
            return;
        }
        let one = MachineRun::of(slot.seq.into(), slot.at_ms, class, machine);
        let run = match self.run {
            None => one,
            Some((mut run, _)) if self.ascending => {
                run.extend(&one);
                run
            }
            Some((run, _)) => {
                let mut whole = one;
                whole.extend(&run);
                whole
            }
        };
        self.run = Some((run, slot));
    }

    fn end_run(&mut self, pieces: &mut Vec<Piece>) {
        pieces.extend(self.run.take().map(|(run, slot)| match run.findings {
            // One alone says what it is.
            1 => Piece::Entry(slot),
            _ => Piece::Machine(run),
        }));
        self.within = None;
        self.is_open = None;
    }

    /// The lines between two others that could not be read.
    fn gap(&mut self, pieces: &mut Vec<Piece>, sieve: &Sieve, lower: u64, upper: u64, at_ms: i64) {
        if upper.saturating_sub(lower) > 1 && sieve.query.takes_time(at_ms) {
            self.end_run(pieces);
            pieces.push(Piece::Bad {
                first: lower + 1,
                last: upper - 1,
                at_ms,
            });
        }
    }
}
