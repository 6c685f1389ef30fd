//! [`WantedText`]: an entry that is being read for its text.

use crate::action::Action;
use crate::model::EntryPlace;

#[derive(Debug, Clone)]
pub(crate) struct WantedText {
    pub(crate) place: EntryPlace,
    pub(crate) action: Action,
    pub(crate) since_ms: i64,
}
