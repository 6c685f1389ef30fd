//! The cards of what somebody else did to the record or to the key, with what to do about each.

use ctxrelay_ui::model as ui;

use crate::core::alarm::{Alarm, AlarmSnapshot};

pub(super) fn card(open: &AlarmSnapshot) -> ui::InboxCard {
    let (steps, command) = what_to_do(&open.alarm);
    ui::InboxCard {
        seq: Some(open.seq.0),
        steps,
        command: Some(command.to_owned()),
        ..ui::InboxCard::new(
            ui::InboxKind::Tampering,
            open.id.to_string(),
            ui::Party::System,
            open.at_ms,
            open.alarm.text(),
        )
    }
}

/// What can be done, and the command that shows more.
fn what_to_do(alarm: &Alarm) -> (Vec<String>, &'static str) {
    let verify = "ctxrelay ledger verify";
    let who = "Ask what else on this machine writes into .contextrelay/.";
    let seen = "Once you know what it was, say here that you have seen it.";
    let (steps, command) = match alarm {
        Alarm::SignerReplaced { signer, .. } => {
            return (
                vec![
                    format!(
                        "Look which key is here, and compare it with the one that you know: {} signs \
                         in this record.",
                        signer.fingerprint()
                    ),
                    "Was it not you: put your own key back from where you keep a copy (the file \
                     operator.key in the registry's folder, or your SSH key), change its passphrase, \
                     and ask who could write there."
                        .to_owned(),
                    "Was it you: put the old key back for now, set `operator.signing` to `off`, \
                     `ctxrelay trust`, take the new key, and switch signing on again."
                        .to_owned(),
                    "Is the old key lost: `ctxrelay guide signing` says what is left then. Until \
                     one of these is done nothing can be signed here."
                        .to_owned(),
                    seen.to_owned(),
                ],
                "ctxrelay operator key show",
            );
        }
        Alarm::SignerLost { .. } => (
            [
                "See which entries do not stand as they were written, and compare the decisions \
                 before this entry with what you remember.",
                who,
                seen,
            ],
            verify,
        ),
        Alarm::ForeignLines { .. } => (
            [
                "Read that file: it has what was written there, and nothing of it counts.",
                who,
                seen,
            ],
            verify,
        ),
        Alarm::RecordCut { .. } => (
            [
                "Put the record back from a copy, if you have one; what is missing is not known \
                 here.",
                who,
                seen,
            ],
            verify,
        ),
        Alarm::RecordGone { .. } => (
            [
                "Put .contextrelay/ back from a copy, if you have one, while no daemon runs; what \
                 was in it is not known here.",
                "Was it not you: ask what else on this machine removes files here, `git clean -fdx` \
                 among them.",
                "Once you know what it was, or if it was you, say here that you have seen it.",
            ],
            verify,
        ),
        Alarm::MessageAltered { .. } => (
            [
                "Nobody was given it. Ask its sender to send it again, if it still counts.",
                who,
                seen,
            ],
            verify,
        ),
        Alarm::Unknown(_) => (
            [
                "Leave this deck and open it again with the program that the daemon runs, or a later \
                 one: it says what happened.",
                who,
                seen,
            ],
            verify,
        ),
        Alarm::UnsignedDecision { .. }
        | Alarm::UnsignedAct { .. }
        | Alarm::UnsignedChange { .. } => (
            [
                "Was it meant by you: do it again in the deck or in a terminal, where it is signed.",
                who,
                seen,
            ],
            verify,
        ),
    };
    (steps.map(str::to_owned).into(), command)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::agent::Agent;
    use crate::core::id::{EntryId, Seq, SessionId};
    use crate::core::signer::Signer;
    use crate::core::signing::{NotSigned, OperatorAct};

    fn signer(byte: u8) -> Signer {
        Signer::new(&[byte; 32])
    }

    fn card_of(alarm: Alarm) -> ui::InboxCard {
        card(&AlarmSnapshot {
            id: EntryId::new("m-1"),
            seq: Seq(7),
            at_ms: 0,
            alarm,
            acknowledged_ms: None,
        })
    }

    #[test]
    fn each_alarm_says_what_to_do_and_a_replaced_key_which_one_signs() {
        let (signs, found) = (signer(1), signer(2));
        let replaced = card_of(Alarm::SignerReplaced {
            signer: signs.clone(),
            found,
        });
        assert_eq!(
            replaced.command.as_deref(),
            Some("ctxrelay operator key show")
        );
        assert!(
            replaced.steps[0].contains(&signs.fingerprint()),
            "{:?}",
            replaced.steps
        );
        let why = NotSigned::Missing;
        let others = [
            Alarm::ForeignLines {
                file: "s.foreign".to_owned(),
                lines: 1,
                sha256: "00".to_owned(),
            },
            Alarm::RecordCut {
                seq: 4,
                sha256: "00".to_owned(),
            },
            Alarm::RecordGone {
                session: SessionId::new("session_1795000000000_00000001"),
                seq: 4,
                sha256: "00".to_owned(),
            },
            Alarm::UnsignedDecision {
                seq: 4,
                proposal: EntryId::new("m-2"),
                why,
            },
            Alarm::SignerLost { signer: signs },
            Alarm::UnsignedAct {
                seq: 4,
                act: OperatorAct::Clear,
                why,
            },
            Alarm::UnsignedChange { seq: 4 },
            Alarm::MessageAltered {
                message: EntryId::new("m-2"),
                to: Agent::Claude,
                others: 0,
            },
            Alarm::Unknown(json!({"kind": "of_the_future"})),
        ];
        for alarm in others {
            let card = card_of(alarm);
            assert!(!card.steps.is_empty(), "{card:?}");
            assert_eq!(card.command.as_deref(), Some("ctxrelay ledger verify"));
        }
    }
}
