//! [`VisitedPlaces`]: where the reader was before a jump, for the way back.

use crate::pane::Pane;

/// So many are remembered; nobody finds the way back from further.
const PLACES_MAX: usize = 64;

/// Where the reader was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VisitedPlace {
    /// The pane in focus.
    pub(crate) focus: Pane,
    /// The line of the record under the timeline's cursor; `None` while it followed the newest.
    pub(crate) line: Option<u64>,
}

/// Places, the last one left last.
#[derive(Debug, Clone, Default)]
pub(crate) struct VisitedPlaces(Vec<VisitedPlace>);

impl VisitedPlaces {
    /// The reader leaves this place.
    pub(crate) fn leave(&mut self, place: VisitedPlace) {
        if self.0.last() == Some(&place) {
            return;
        }
        if self.0.len() == PLACES_MAX {
            self.0.remove(0);
        }
        self.0.push(place);
    }

    /// The place that was left last.
    pub(crate) fn back(&mut self) -> Option<VisitedPlace> {
        self.0.pop()
    }

    /// Nowhere was left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Another record has begun: lines mean other entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
