//! Entries on the continuity of an agent's work, of any content.

use proptest::prelude::*;

use super::{agent, id, note_kind, text};
use crate::entry::{
    ChangedRules, Compaction, ContinuityFact, EntryKind, Inference, InferredValue, Reload,
    ReloadStep, RulesChange, TurnFiles,
};

pub(super) fn continuity() -> impl Strategy<Value = EntryKind> {
    let paths = || prop::collection::vec(text(), 0..3);
    let files =
        (paths(), paths(), paths(), 0..3_u64).prop_map(|(read, written, unfinished, helpers)| {
            ContinuityFact::TurnFiles(TurnFiles {
                read,
                written,
                unfinished,
                helpers,
            })
        });
    let tokens = || prop::option::of(0..2_000_000_u64);
    let compaction = ("manual|auto|[a-z_]{0,12}", tokens(), tokens()).prop_map(
        |(trigger, tokens_before, tokens_after)| {
            ContinuityFact::Compacted(Compaction {
                trigger: trigger.into(),
                tokens_before,
                tokens_after,
            })
        },
    );
    let step = prop_oneof![
        text().prop_map(|sha256| ReloadStep::Offered { sha256 }),
        Just(ReloadStep::Given),
        text().prop_map(|why| ReloadStep::NotGiven { why }),
        text().prop_map(|why| ReloadStep::Unknown { why }),
    ];
    let words = ("compacted|[a-z_]{0,12}", "hook|inject|[a-z_]{0,12}");
    let reload = (id(), words, step).prop_map(|(packet_id, (cause, way), step)| {
        ContinuityFact::Reloaded(Reload {
            packet_id,
            cause: cause.into(),
            way: way.into(),
            step,
        })
    });
    let forgotten = prop::option::of(text()).prop_map(|what| ContinuityFact::Forgotten { what });
    let inferred = (
        text(),
        note_kind(),
        text(),
        prop::option::of(text()),
        tokens(),
    );
    let inferred = inferred.prop_map(|(model, kind, said, failure, cost_micro_usd)| {
        let values = vec![InferredValue { kind, text: said }];
        ContinuityFact::Inferred(Inference {
            model,
            values,
            cost_micro_usd,
            failure,
        })
    });
    let rules =
        (text(), text(), prop::collection::vec(agent(), 0..2)).prop_map(|(file, lines, by)| {
            let files = vec![ChangedRules { file, by, lines }];
            ContinuityFact::RulesChanged(RulesChange { files })
        });
    let fact = prop_oneof![files, compaction, reload, rules, inferred, forgotten];
    (agent(), fact).prop_map(|(agent, fact)| fact.of(agent))
}
