//! What the record holds of an agent's work, as files.

use pretty_assertions::assert_eq;

use super::*;
use crate::continuity::work_files::WorkSources;
use crate::entry::{Reload, ReloadStep, ReloadWay};

/// Claude's order: its packet is made while it compacts, and then its summary comes.
#[test]
fn a_compaction_of_claudes_stands_with_its_summary_and_with_its_own_packet() {
    let mut record = Record::default();
    let mut entries = Vec::new();
    let mut put = |content: &str, by: Party, fact: ContinuityFact| {
        let entry = record.entry(by, content, fact.of(Agent::Claude));
        fold(&mut record.world, &entry);
        entries.push(entry);
    };
    let packet = |id: &str, cause: ReloadCause| {
        ContinuityFact::Reloaded(Reload {
            packet_id: EntryId::new(id),
            cause,
            way: ReloadWay::Hook,
            step: ReloadStep::Offered {
                sha256: String::new(),
            },
        })
    };
    let compacted = || {
        ContinuityFact::Compacted(Compaction {
            trigger: CompactionTrigger::Manual,
            tokens_before: None,
            tokens_after: None,
        })
    };
    for nth in ["first", "second"] {
        let text = format!("the {nth} packet");
        put(&text, Party::System, packet(nth, ReloadCause::Compacted));
        put(&format!("the {nth} summary"), claude(), compacted());
    }
    put(
        "a later start",
        Party::System,
        packet("p", ReloadCause::Started),
    );
    let files = WorkSources {
        world: &record.world,
        agent: Agent::Claude,
        pair: &RuntimeSession::default(),
        entries: &entries,
        heads: &[],
        time: &|ms| ms.to_string(),
    }
    .files();
    let summaries: Vec<&str> = files
        .iter()
        .filter(|(name, _)| name.starts_with("summaries/"))
        .map(|(_, text)| text.as_str())
        .collect();
    let expected = ["first", "second"].map(|nth| {
        format!("\n\n## Summary\n\nthe {nth} summary\n\n## Given after it\n\nthe {nth} packet\n")
    });
    let told = summaries.iter().map(|text| {
        let (_, told) = text.split_at(text.find("\n\n").unwrap());
        told.to_owned()
    });
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
