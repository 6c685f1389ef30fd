//! [`VisitedPlaces`]: where the reader was before a jump or a reference, for the way back.

use crate::overlays::Overlay;
use crate::pane::Pane;

/// So many are remembered; nobody finds the way back from further.
const PLACES_MAX: usize = 64;

/// Where the reader was.
#[derive(Debug, Clone)]
pub(crate) enum VisitedPlace {
    /// On the panes, from which a reference was followed.
    Panes,
    /// On an overlay, from which a reference was followed.
    Overlay(Box<Overlay>),
    /// On the timeline, before a jump.
    Row {
        focus: Pane,
        /// The line of the record under the timeline's cursor; `None` while it followed the newest.
        line: Option<u64>,
    },
}

impl VisitedPlace {
    /// Two overlays are never taken for the same one.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Panes, Self::Panes) => true,
            (
                Self::Row { focus, line },
                Self::Row {
                    focus: of,
                    line: at,
                },
            ) => (focus, line) == (of, at),
            _ => false,
        }
    }
}

/// Places, the last one left last: one way back for jumps and references, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct VisitedPlaces(Vec<VisitedPlace>);

impl VisitedPlaces {
    /// The reader leaves this place.
    pub(crate) fn leave(&mut self, place: VisitedPlace) {
        if self.0.last().is_some_and(|last| last.is_same(&place)) {
            return;
        }
        if self.0.len() == PLACES_MAX {
            self.0.remove(0);
        }
        self.0.push(place);
    }

    /// The place that was left last, from the panes: these are no place to go back to.
    pub(crate) fn back_from_panes(&mut self) -> Option<VisitedPlace> {
        self.0.truncate(self.len_from_panes());
        self.0.pop()
    }

    /// The place from which the overlay in front was reached by a reference.
    pub(crate) fn back_from_overlay(&mut self) -> Option<VisitedPlace> {
        self.leads_from_overlay().then(|| self.0.pop()).flatten()
    }

    /// Whether [`Self::back_from_panes`] leads anywhere.
    pub(crate) fn leads_from_panes(&self) -> bool {
        self.len_from_panes() > 0
    }

    /// Whether [`Self::back_from_overlay`] leads anywhere.
    pub(crate) fn leads_from_overlay(&self) -> bool {
        let last = self.0.last();
        last.is_some_and(|last| !matches!(last, VisitedPlace::Row { .. }))
    }

    fn len_from_panes(&self) -> usize {
        let is_place = |place: &VisitedPlace| !matches!(place, VisitedPlace::Panes);
        self.0.iter().rposition(is_place).map_or(0, |at| at + 1)
    }

    /// Another record has begun: lines mean other entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
