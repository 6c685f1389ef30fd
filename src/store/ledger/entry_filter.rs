//! [`EntryFilter`]: which entries are wanted.

use ctxrelay_core::agent::Party;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::RuntimeSession;
use ctxrelay_core::wire::control::LedgerListParams;

/// Which entries are wanted; an empty filter selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryFilter {
    /// Only this `type`.
    pub entry_type: Option<String>,
    /// Only from this party.
    pub source: Option<Party>,
    /// Only for this party.
    pub target: Option<Party>,
    /// Only entries of this pair, or of no pair.
    pub runtime_session: Option<RuntimeSession>,
    /// Not before, ms since the epoch.
    pub since_ms: Option<i64>,
    /// Not after, ms since the epoch.
    pub until_ms: Option<i64>,
    /// Only with this text in the content, ignoring case.
    pub text: Option<String>,
    /// Only with an id that ends like this.
    pub id_end: Option<String>,
}

impl From<&LedgerListParams> for EntryFilter {
    fn from(params: &LedgerListParams) -> Self {
        Self {
            entry_type: params.entry_type.clone(),
            source: params.source.clone().map(Party::from),
            target: params.target.clone().map(Party::from),
            runtime_session: params.runtime_session_id.clone(),
            since_ms: params.since_ms,
            until_ms: params.until_ms,
            text: params.text.clone(),
            id_end: None,
        }
    }
}

impl EntryFilter {
    /// Whether an entry is wanted.
    pub fn takes(&self, entry: &Entry) -> bool {
        let kind = self
            .entry_type
            .as_deref()
            .is_none_or(|wanted| entry.kind.type_name() == wanted);
        let source = self
            .source
            .as_ref()
            .is_none_or(|wanted| entry.source == *wanted);
        let target = self
            .target
            .as_ref()
            .is_none_or(|wanted| entry.target.as_ref() == Some(wanted));
        let session = match (&self.runtime_session, &entry.runtime_session) {
            (Some(wanted), Some(has)) => wanted == has,
            _ => true,
        };
        let at = entry.timestamp_ms;
        let time = self.since_ms.is_none_or(|since| at >= since)
            && self.until_ms.is_none_or(|until| at <= until);
        let text = || {
            self.text.as_deref().is_none_or(|wanted| {
                entry
                    .content
                    .to_lowercase()
                    .contains(&wanted.to_lowercase())
            })
        };
        let id = || {
            let end = self.id_end.as_deref();
            end.is_none_or(|end| entry.id.as_str().ends_with(end))
        };
        kind && source && target && session && time && id() && text()
    }
}
