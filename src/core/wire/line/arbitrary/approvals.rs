//! Requests for approval, and their outcomes.

use proptest::prelude::*;

use super::{agent, id, text};
use crate::entry::{
    ApprovalChoice, ApprovalEnd, ApprovalRecord, ApprovalRequest, ApprovalStep, ChoiceEffect,
    EntryKind, LabelParts, TextHints, Wish,
};
use crate::id::{ThreadId, TurnId};

fn approval_request() -> impl Strategy<Value = ApprovalRequest> {
    let effect = prop::sample::select(vec![
        ChoiceEffect::AllowOnce,
        ChoiceEffect::AllowMore,
        ChoiceEffect::Deny,
        ChoiceEffect::DenyMore,
        ChoiceEffect::Stop,
        ChoiceEffect::Answer,
        ChoiceEffect::OwnWords,
    ]);
    let parts = (text(), text()).prop_map(|(short, comes_to)| LabelParts { short, comes_to });
    let choice = (text(), text(), effect, prop::option::of(parts));
    let choice = choice.prop_map(|(id, label, effect, parts)| ApprovalChoice {
        id,
        label,
        effect,
        parts,
    });
    let lines = || prop::collection::vec(text(), 0..3);
    let needs = prop::collection::vec("git|write|network|[a-z_]{0,12}", 0..3);
    let needs = needs.prop_map(|needs| needs.into_iter().map(Into::into).collect());
    let hints = (prop::option::of(text()), lines(), needs);
    let hints = hints.prop_map(|(git, more, needs)| TextHints { git, more, needs });
    (
        "command|tool|user_question|[a-z_]{0,12}",
        (text(), text()),
        prop::option::of(text()),
        prop::option::of(text()),
        prop::collection::vec(choice, 0..3),
        prop::option::of(text().prop_map(ThreadId::new)),
        prop::option::of("t[0-3]".prop_map(TurnId::new)),
        prop::option::of(0_i64..4_000_000_000_000),
        (lines(), lines(), any::<bool>(), prop::option::of(hints)),
    )
        .prop_map(
            |(kind, (key, subject), cwd, reason, choices, thread_id, turn_id, until, rest)| {
                let (files, also_wants, cut, unmasked) = rest;
                ApprovalRequest {
                    kind: kind.into(),
                    key,
                    subject,
                    cwd,
                    reason,
                    choices,
                    thread_id,
                    turn_id,
                    call_waits_until_ms: until,
                    peer_files: files,
                    also_wants: also_wants.into_iter().map(Wish::from).collect(),
                    cut,
                    unmasked,
                }
            },
        )
}

pub(super) fn approval() -> impl Strategy<Value = EntryKind> {
    let given = (text(), prop::option::of(text()));
    let step = prop_oneof![
        approval_request().prop_map(|asked| ApprovalStep::Asked(Box::new(asked))),
        given.prop_map(|(choice, note)| ApprovalStep::Given { choice, note }),
        Just(ApprovalStep::Undelivered),
        prop::sample::select(vec![ApprovalEnd::Answered, ApprovalEnd::Lost])
            .prop_map(ApprovalStep::Ended),
    ];
    (id(), agent(), step).prop_map(|(approval_id, agent, step)| {
        EntryKind::Approval(ApprovalRecord {
            approval_id,
            agent,
            step,
        })
    })
}
