//! Marks statements whose entry in the record says more than the beginning that is at hand.

use std::io;

use super::CapsulesNow;
use crate::core::capsule::Capsule;
use crate::core::continuity::StatedText;

impl CapsulesNow {
    /// Has each statement say whether its entry says more. Before anything is masked in them.
    pub(super) fn mark_cut(&self, capsule: &mut Capsule) -> io::Result<()> {
        for (_, said) in capsule.stated_mut() {
            let line = said
                .line
                .as_ref()
                .filter(|_| StatedText::may_be_cut(&said.text));
            let Some(line) = line else {
                continue;
            };
            let stored = (self.read)(line.seq)?.filter(|stored| stored.entry.id == line.id);
            if let Some(stored) = stored {
                said.mark_cut(&stored.entry);
            }
        }
        Ok(())
    }
}
