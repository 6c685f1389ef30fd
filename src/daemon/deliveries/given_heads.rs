//! [`GivenHeads`]: how each message was given last, until the record says that it arrived.

use crate::core::id::EntryId;
use crate::daemon::base::bounded_map::BoundedMap;
use crate::wire::control::MailMessage;

/// The first line of each message's text, as last given.
#[derive(Debug, Default)]
pub(in crate::daemon) struct GivenHeads {
    heads: BoundedMap<EntryId, String>,
}

impl GivenHeads {
    /// A message is given like this.
    pub(in crate::daemon) fn note(&mut self, message: &MailMessage) {
        let head = message.text.lines().next().unwrap_or_default();
        self.heads
            .insert(message.message_id.clone(), head.to_owned());
    }

    /// How it was given last.
    pub(in crate::daemon) fn of(&self, id: &EntryId) -> Option<&String> {
        self.heads.get(id)
    }
}
