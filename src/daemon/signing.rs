//! Switches signing on and off, and has it go on in the next session.

use super::owners::Daemon;
use crate::core::agent::Party;
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::id::Seq;
use crate::core::signing::{META, SigningChange, SigningState};
use crate::wire::config::SigningMode;
use crate::wire::control::{Refusal, RefusalCode};

impl Daemon {
    /// The entry that makes signing what is trusted from now on; none where it is so already.
    ///
    /// # Errors
    ///
    /// When the key did not sign the change that this needs.
    pub(super) fn signing_change(
        &self,
        wanted: SigningMode,
        change: Option<SigningChange>,
    ) -> Result<Option<Entry>, Refusal> {
        let state = self.recorder.world().signing.as_ref();
        let is_wanted = wanted == SigningMode::Passphrase;
        if is_wanted == state.is_some() {
            return Ok(None);
        }
        let after = change
            .as_ref()
            .map(|change| SigningState::after(state, change.clone(), Seq(0)));
        match (after, change) {
            (Some(Ok(after)), Some(change)) if after.is_some() == is_wanted => {
                Ok(Some(self.signing_entry(Party::Human, &change)))
            }
            _ => Err(Refusal::new(
                RefusalCode::NotSigned,
                "`operator.signing` changes only by the key itself",
                "trust it in a terminal, where the passphrase can be asked for: `ctxrelay trust`",
            )),
        }
    }

    /// Decisions of the next session are signed as those of this one.
    pub(super) fn signing_as_it_is(&self) -> Option<Entry> {
        let state = self.recorder.world().signing.as_ref()?;
        let notice = state.notice.clone();
        Some(self.signing_entry(Party::System, &SigningChange::On { notice }))
    }

    fn signing_entry(&self, by: Party, change: &SigningChange) -> Entry {
        let event = LifecycleEvent::SigningChanged;
        let mut entry = self.entry(by, None, event, change.text(), None);
        entry.meta.insert(META.to_owned(), change.to_value());
        entry
    }
}
