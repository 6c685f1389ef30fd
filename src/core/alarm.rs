//! [`Alarm`]: somebody else touched the record. It is an `error` entry, and stays until the
//! operator has acknowledged it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::Agent;
use super::entry::{Entry, EntryKind, ErrorCode, LifecycleEvent};
use super::id::{EntryId, Seq, SessionId};
use super::signer::Signer;
use super::signing::{NotSigned, OperatorAct};

/// The key of an entry's `meta` with the alarm, or with the id of the one that is acknowledged.
pub const META: &str = "alarm";

/// What somebody else did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Alarm {
    /// Lines stood behind the record that nobody of ours wrote there.
    ForeignLines {
        /// Where they lie now: a name beside the session's file.
        file: String,
        /// How many.
        lines: u64,
        /// The digest of their bytes.
        sha256: String,
    },
    /// The record lacks an entry that is known outside of the project.
    RecordCut {
        /// Its number.
        seq: u64,
        /// Its hash.
        sha256: String,
    },
    /// The record that is known outside of the project is gone, with what names its session.
    RecordGone {
        session: SessionId,
        /// The number of its last entry.
        seq: u64,
        /// The hash of that.
        sha256: String,
    },
    /// The record has a decision that is not signed as it has to be.
    UnsignedDecision {
        /// Its number.
        seq: u64,
        proposal: EntryId,
        /// Why it is not believed.
        why: NotSigned,
    },
    /// The record no longer says that its decisions are signed by the key that is known outside of
    /// the project.
    SignerLost {
        /// That key.
        signer: Signer,
    },
    /// The record has an act of the operator's that is not signed as it has to be.
    UnsignedAct {
        /// Its number.
        seq: u64,
        /// What was done.
        act: OperatorAct,
        /// Why it is not believed.
        why: NotSigned,
    },
    /// The operator's key on this machine is not the one that signs in the record.
    SignerReplaced {
        /// The one that signs.
        signer: Signer,
        /// The one that is there.
        found: Signer,
    },
    /// The record has a change of signing that is not signed as it has to be.
    UnsignedChange {
        /// Its number.
        seq: u64,
    },
    /// A message's line was edited while it waited.
    MessageAltered {
        message: EntryId,
        /// Whom it was for.
        to: Agent,
        /// How many others were found edited while this waits to be acknowledged.
        #[serde(default)]
        others: u64,
    },
    /// One that only another version knows, as it was written: it must not keep this one from reading
    /// what it stands in, nor get lost where this one writes that again.
    #[serde(untagged)]
    Unknown(#[serde(deserialize_with = "crate::plain_value::member")] Value),
}

impl Alarm {
    /// The code of its entry.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::ForeignLines { .. } => ErrorCode::ForeignLines,
            Self::RecordCut { .. }
            | Self::RecordGone { .. }
            | Self::SignerLost { .. }
            | Self::SignerReplaced { .. }
            | Self::Unknown(_) => ErrorCode::LedgerTouched,
            Self::UnsignedDecision { .. }
            | Self::UnsignedAct { .. }
            | Self::UnsignedChange { .. } => ErrorCode::UnsignedDecision,
            Self::MessageAltered { .. } => ErrorCode::MessageAltered,
        }
    }

    /// As it stands in its entry's `meta`.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The alarm that an entry raises.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::Error { code } = &entry.kind else {
            return None;
        };
        let alarm: Self = serde_json::from_value(entry.meta.get(META)?.clone()).ok()?;
        // A version that does not know it records it with this code, and does not know its own one.
        let is_its = match alarm {
            Self::Unknown(_) => true,
            _ => *code == alarm.code() || *code == ErrorCode::LedgerTouched,
        };
        is_its.then_some(alarm)
    }

    /// A sentence for people.
    pub fn text(&self) -> String {
        match self {
            Self::ForeignLines {
                file,
                lines,
                sha256,
            } => format!(
                "{lines} line{} stood behind the end of the record: somebody else's, or written at \
                 the moment of a crash; not believed, not acted on, kept in sessions/{file} \
                 (SHA-256 {sha256})",
                if *lines == 1 { "" } else { "s" }
            ),
            Self::RecordCut { seq, sha256 } => format!(
                "the record was cut, rewritten or removed since a daemon last wrote to it: it has no \
                 entry {seq} with the hash {sha256} any more, which is kept outside the project"
            ),
            Self::RecordGone {
                session,
                seq,
                sha256,
            } => format!(
                "a record with entries up to {seq} (session {session}) lay here and is gone, as \
                 after `git clean -fdx` or `rm -r .contextrelay`: the hash of its last entry, \
                 {sha256}, is kept outside the project"
            ),
            Self::UnsignedDecision { seq, proposal, why } => format!(
                "entry {seq} decides on proposal {proposal}, and {why}: somebody else's, it has no \
                 effect"
            ),
            Self::UnsignedAct { seq, act, why } => {
                let what = match act {
                    OperatorAct::Trust => "trusts the configuration",
                    OperatorAct::Clear => "ends a session, or goes on from one",
                    OperatorAct::Release => "records a release gate",
                };
                format!("entry {seq} {what}, and {why}: somebody else's, it has no effect")
            }
            Self::SignerLost { signer } => format!(
                "the record does not say any more that the key {signer} signs its decisions, which \
                 is known outside the project: it was rewritten or removed; do not trust the \
                 decisions before this entry"
            ),
            Self::SignerReplaced { signer, found } => format!(
                "the operator's key on this machine was replaced: {found} is there, and {signer} \
                 signs in this record; nothing is signed with it"
            ),
            Self::UnsignedChange { seq } => format!(
                "entry {seq} changes who signs the decisions, and is not signed by the key that \
                 does: somebody else's, it has no effect"
            ),
            Self::MessageAltered {
                message,
                to,
                others,
            } => {
                let mut text = format!(
                    "somebody else edited message {message} in the record while it waited for {}: \
                     it was not delivered, and is not",
                    to.title()
                );
                if *others > 0 {
                    text += &format!("; and {others} more of them");
                }
                text
            }
            Self::Unknown(_) => {
                "somebody else was at the record, in a way that only a later version \
                                 knows: read what it is with that version"
                    .to_owned()
            }
        }
    }
}

/// The alarm that the operator acknowledges with an entry.
pub fn acknowledged_by(entry: &Entry) -> Option<EntryId> {
    let is_word = matches!(
        &entry.kind,
        EntryKind::Lifecycle {
            event: LifecycleEvent::AlarmAcknowledged
        }
    ) && entry.source == super::agent::Party::Human;
    let id = entry.meta.get(META).filter(|_| is_word)?.as_str()?;
    Some(EntryId::new(id))
}

/// An alarm as the record tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlarmSnapshot {
    pub id: EntryId,
    /// The place of its entry in the ledger.
    pub seq: Seq,
    /// When it was raised, ms since the epoch.
    pub at_ms: i64,
    /// What was done.
    pub alarm: Alarm,
    /// When the operator acknowledged it.
    pub acknowledged_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::Party;
    use crate::fold::fold;
    use crate::plain_value::{PlainValue, RAW_TEXT, nested_texts};
    use crate::snapshot::Snapshot;

    #[test]
    fn however_many_messages_are_edited_no_other_alarm_gives_way_to_them() {
        let mut world = Snapshot::default();
        let mut raise = |seq: u64, alarm: &Alarm| {
            let mut entry = Entry {
                seq: Seq(seq),
                ..Entry::new(Party::System, alarm.code().into())
            };
            entry.meta.insert(META.to_owned(), alarm.to_value());
            fold(&mut world, &entry);
        };
        raise(1, &Alarm::UnsignedChange { seq: 1 });
        for seq in 2..202 {
            let altered = Alarm::MessageAltered {
                message: EntryId::new(format!("m-{seq}")),
                to: Agent::Claude,
                others: 0,
            };
            raise(seq, &altered);
        }
        let open: Vec<String> = world.open_alarms().map(|open| open.alarm.text()).collect();
        let [first, altered] = &open[..] else {
            panic!("{open:?}");
        };
        assert!(first.starts_with("entry 1 changes who signs"), "{first}");
        assert!(
            altered.contains("message m-2 ") && altered.ends_with("and 199 more of them"),
            "{altered}"
        );
    }

    #[test]
    fn a_world_with_an_alarm_of_a_later_version_is_read_and_written_again_as_it_was() {
        let mut world = Snapshot::default();
        let later = json!({"kind": "of_the_future", "seq": 4, "names": ["a"]});
        let codes = ["of_the_future", "ledger_touched"].map(ErrorCode::from);
        for (seq, code) in (1..).zip(codes) {
            let mut entry = Entry {
                seq: Seq(seq),
                ..Entry::new(Party::System, code.into())
            };
            entry.meta.insert(META.to_owned(), later.clone());
            fold(&mut world, &entry);
        }
        // One that this version knows, as recorded by one that did not.
        let mut entry = Entry {
            seq: Seq(3),
            ..Entry::new(Party::System, ErrorCode::LedgerTouched.into())
        };
        let known = Alarm::UnsignedChange { seq: 1 };
        entry.meta.insert(META.to_owned(), known.to_value());
        fold(&mut world, &entry);

        let text = serde_json::to_value(&world).unwrap();
        assert_eq!(text["alarms"][0]["alarm"], later);
        let read: Snapshot = serde_json::from_value(text).unwrap();
        assert_eq!(read, world);
        let open: Vec<&Alarm> = read.open_alarms().map(|open| &open.alarm).collect();
        let unknown = Alarm::Unknown(later);
        assert_eq!(open, [&unknown, &unknown, &known]);
    }

    #[test]
    fn an_alarm_that_names_raw_text_is_kept_as_it_is_written() {
        let forged = PlainValue::of(&nested_texts(12)).unwrap();
        let read: Alarm = serde_json::from_value(forged.clone()).unwrap();
        assert_eq!(read, Alarm::Unknown(forged));
        let forged = json!({RAW_TEXT: "[1]"});
        let read: Alarm = serde_json::from_value(forged.clone()).unwrap();
        assert_eq!(read.to_value(), forged);
    }
}
