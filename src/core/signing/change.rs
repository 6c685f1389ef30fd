//! [`SigningChange`]: signing is switched on, off, or to another key, in a `signing_changed` entry;
//! [`SigningState`]: the resulting state of the record.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{SignedPlace, SigningStatement};
use crate::entry::{Entry, EntryKind, LifecycleEvent};
use crate::id::Seq;
use crate::signer::Signer;

/// The key of an entry's `meta` with the change.
pub const META: &str = "signing";

/// A key that signs, as it announced itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningNotice {
    /// The key.
    pub signer: Signer,
    /// Where, when it signs every act of the operator; without it the decisions alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SignedPlace>,
    /// Its signature of [`SigningStatement::On`], in hex.
    pub value: String,
}

impl SigningNotice {
    /// What of the operator's is signed, in words.
    pub fn what_is_signed(&self) -> &'static str {
        match self.place {
            Some(_) => "decisions, trust, clearing and release gates are signed",
            None => "decisions are signed",
        }
    }

    /// Whether the key itself said so.
    pub fn is_right(&self) -> bool {
        let statement = SigningStatement::On {
            signer: &self.signer,
            place: self.place.as_ref(),
        };
        let statement = statement.to_bytes();
        self.signer.verifies(&statement, &self.value)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum SigningChange {
    /// Decisions are signed from this entry on. Said again by the same key it changes nothing.
    On {
        /// By whom.
        notice: SigningNotice,
    },
    /// Another key signs from this entry on.
    Replaced {
        /// The new one.
        notice: SigningNotice,
        /// The old one's signature of [`SigningStatement::Replaced`], in hex.
        value: String,
    },
    /// Decisions are not signed any more.
    Off {
        /// The key's signature of [`SigningStatement::Off`], in hex.
        value: String,
    },
}

impl SigningChange {
    /// The change that an entry tells of.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::Lifecycle {
            event: LifecycleEvent::SigningChanged,
        } = &entry.kind
        else {
            return None;
        };
        serde_json::from_value(entry.meta.get(META)?.clone()).ok()
    }

    /// The key that announces itself by it.
    pub fn notice(&self) -> Option<&SigningNotice> {
        match self {
            Self::On { notice } | Self::Replaced { notice, .. } => Some(notice),
            Self::Off { .. } => None,
        }
    }

    /// As it stands in its entry's `meta`.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// A sentence for people.
    pub fn text(&self) -> String {
        match self {
            Self::On { notice } => {
                format!(
                    "{} from here on, by the key {}",
                    notice.what_is_signed(),
                    notice.signer
                )
            }
            Self::Replaced { notice, .. } => {
                format!(
                    "decisions are signed by another key from here on: {}",
                    notice.signer
                )
            }
            Self::Off { .. } => "decisions are not signed any more".to_owned(),
        }
    }
}

/// That decisions are signed, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningState {
    /// The key.
    pub notice: SigningNotice,
    /// The entry from which on.
    pub since: Seq,
    /// The last act that was signed, which is `since` as long as there was none.
    #[serde(default)]
    pub act: Seq,
    /// The hash on the line of that one, which the next act, a change of key and an end are signed
    /// over.
    pub head: Option<String>,
}

impl SigningState {
    /// What the record comes to with a change at an entry.
    ///
    /// # Errors
    ///
    /// When the change is not signed as it has to be; nothing changes then.
    pub fn after(
        state: Option<&Self>,
        change: SigningChange,
        since: Seq,
    ) -> Result<Option<Self>, SigningRefused> {
        let begun = |notice: SigningNotice| {
            Some(Self {
                notice,
                since,
                act: since,
                head: None,
            })
        };
        match (state, change) {
            (None, SigningChange::On { notice }) if notice.is_right() => Ok(begun(notice)),
            (Some(state), SigningChange::On { notice }) if notice == state.notice => {
                Ok(Some(state.clone()))
            }
            (Some(state), SigningChange::Replaced { notice, value }) => {
                let head = state.head.as_deref().ok_or(SigningRefused)?;
                let statement = SigningStatement::Replaced {
                    head,
                    signer: &notice.signer,
                    place: notice.place.as_ref(),
                };
                let is_by_old = state.notice.signer.verifies(&statement.to_bytes(), &value);
                match is_by_old && notice.is_right() {
                    true => Ok(begun(notice)),
                    false => Err(SigningRefused),
                }
            }
            (Some(state), SigningChange::Off { value }) => {
                let head = state.head.as_deref().ok_or(SigningRefused)?;
                let statement = SigningStatement::Off { head }.to_bytes();
                match state.notice.signer.verifies(&statement, &value) {
                    true => Ok(None),
                    false => Err(SigningRefused),
                }
            }
            _ => Err(SigningRefused),
        }
    }
}

/// A change of signing that is not signed as it has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not signed by the key that signs the decisions")]
pub struct SigningRefused;
