//! What every command refuses: ids that name nothing, texts that are empty or too long.

use std::io;

use crate::core::agent::{Agent, Party};
use crate::core::continuity::MARKER_CHARS_MAX;
use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::daemon::base::recorder::Recorder;
use crate::wire::control::{HandoffParams, Refusal, RefusalCode, TEXT_CHARS_MAX};

/// How many open handoffs a refusal names; `read_context` has all.
const HANDOFFS_NAMED: usize = 5;

/// How many blocker notes, and how many failures, may stand before an agent is refused more of them. All
/// that stand are kept in memory, and every proposal names them.
pub(in crate::daemon) const STANDING_MAX: usize = 256;

/// How much of an unknown id a refusal repeats, in characters.
const ID_CHARS_MAX: usize = 60;

/// Refuses to answer what nobody asked: an id with a slip in it would leave the handoff open
/// while its receiver believes it closed. One that is closed already may be named again.
pub(in crate::daemon) fn check_handles<T>(
    recorder: &Recorder<T>,
    handles: &[EntryId],
) -> Result<(), Refusal> {
    for id in handles {
        if is_asked(recorder, id)? {
            continue;
        }
        let open: Vec<&str> = recorder
            .world()
            .standing_handoffs()
            .take(HANDOFFS_NAMED)
            .map(|handoff| handoff.id.as_str())
            .collect();
        let hint = if open.is_empty() {
            "nothing was recorded; no handoff is open, leave the id out".to_owned()
        } else {
            format!("nothing was recorded; open are: {}", open.join(", "))
        };
        return Err(not_found(
            &format!("handoff {} in this session", shortened(id.as_str())),
            &hint,
        ));
    }
    Ok(())
}

/// Refuses a note that would close a handoff of others: what names an open one closes it. What a
/// pair's Claude was given, that pair's may close. What a Claude sent does not say of which pair it
/// is itself, so that any may close it; there is one Codex for all.
pub(super) fn check_may_close<T>(
    recorder: &Recorder<T>,
    by: &Party,
    pair: &RuntimeSession,
    handles: &[EntryId],
) -> Result<(), Refusal> {
    let open = &recorder.world().open_handoffs;
    let others = handles
        .iter()
        .filter_map(|id| open.get(id))
        .find(|handoff| {
            let is_of_pair = handoff.runtime_session.as_ref().is_none_or(|of| of == pair);
            let is_receiver = handoff.to.as_ref() == Some(by)
                && (is_of_pair || *by == Party::Agent(Agent::Codex));
            *by != Party::Human && handoff.from != *by && !is_receiver
        });
    let Some(handoff) = others else {
        return Ok(());
    };
    let named = |party: &Party| match party {
        Party::Human => "your operator".to_owned(),
        party => party.title().to_owned(),
    };
    let (id, from) = (&handoff.id, named(&handoff.from));
    // To whom, the record of a version that does not know its receiver says nothing.
    let to = handoff.to.as_ref().map(|to| format!(" to {}", named(to)));
    let to = to.unwrap_or_default();
    Err(Refusal::wrong_state(
        format!("handoff {id} is of {from}{to}, and what names it would close it"),
        "nothing was recorded; leave the id out, and say in the text what it is about",
    ))
}

fn is_asked<T>(recorder: &Recorder<T>, id: &EntryId) -> Result<bool, Refusal> {
    if recorder.world().open_handoffs.contains_key(id) {
        return Ok(true);
    }
    let stored = recorder.stored_of(id).map_err(|error| unreadable(&error))?;
    Ok(stored.is_some_and(|stored| {
        matches!(
            stored.entry.kind,
            EntryKind::Handoff(_)
                | EntryKind::Message(_)
                | EntryKind::Note {
                    note: NoteKind::Blocker,
                    ..
                }
        )
    }))
}

/// Where it stands whose answer is waited for. Refuses to wait for the answer to what nobody asked:
/// it would never come. Behind a compaction an answer that nobody has read stands here, and its
/// question does not.
pub(super) fn check_awaited<T>(
    recorder: &Recorder<T>,
    agent: Agent,
    id: &EntryId,
) -> Result<Option<Seq>, Refusal> {
    let world = recorder.world();
    let mut unread = world.unsettled.values();
    let may_stand_here = world.predecessor.is_some() && unread.any(|message| message.to == agent);
    let asked = recorder.seq_of(id);
    if may_stand_here {
        return Ok(asked.ok().flatten());
    }
    let asked = asked.map_err(|error| unreadable(&error))?;
    if asked.is_some() {
        return Ok(asked);
    }
    Err(not_found(
        &format!(
            "message, handoff or question {} in this session",
            shortened(id.as_str())
        ),
        "leave the id out to wait for any message; read_context has the ids",
    ))
}

/// Refuses what only the record can tell, where that cannot be read.
pub(in crate::daemon) fn unreadable(error: &io::Error) -> Refusal {
    Refusal::new(
        RefusalCode::LedgerUnreadable,
        format!("the record could not be read: {error}"),
        "see that the project folder is there and can be read",
    )
}

/// Refuses what is no number and no id.
pub(in crate::daemon) fn not_found(what: &str, hint: &str) -> Refusal {
    Refusal::new(RefusalCode::NotFound, format!("there is no {what}"), hint)
}

/// An id or a cursor that somebody made up may be long.
pub(super) fn shortened(id: &str) -> String {
    id.chars().take(ID_CHARS_MAX).collect()
}

/// The place that a cursor names. Refuses what is none.
pub(super) fn check_cursor(cursor: Option<&str>) -> Result<Option<u64>, Refusal> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    cursor.parse().map(Some).map_err(|_| {
        Refusal::invalid(
            format!("`{}` is no cursor", shortened(cursor)),
            "use the `cursor` of the page before",
        )
    })
}

/// Refuses what an agent says of its work when it is longer than what is kept of it: what would be
/// cut is better said in fewer words.
pub(super) fn check_marker(what: &str, text: &str) -> Result<(), Refusal> {
    if text.chars().count() <= MARKER_CHARS_MAX {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::TooLarge,
        format!("{what} is longer than {MARKER_CHARS_MAX} characters"),
        "say it in fewer words, or name a file that says it",
    ))
}

/// Refuses one more of what stands in the way of a sign-off until somebody takes it back: dropping the
/// oldest instead would sign off what it kept from being done. The operator is not refused.
pub(super) fn check_standing(
    from: &Party,
    what: &str,
    standing: usize,
    take_back: &str,
) -> Result<(), Refusal> {
    if standing < STANDING_MAX || *from == Party::Human {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::Overloaded,
        format!("{standing} {what} stand already"),
        format!("nothing was recorded; {take_back}"),
    ))
}

/// Refuses free text that is empty or too long.
pub(super) fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid(
            format!("`{field}` is empty"),
            format!("say something in `{field}`"),
        ));
    }
    check_length(field, text)
}

/// Refuses a handoff whose parts are too long together: they reach their receiver as one text, and
/// Codex takes none that is much longer than this.
pub(super) fn check_together(params: &HandoffParams) -> Result<(), Refusal> {
    let refs = params.context_refs.iter();
    let chars = params.ask.chars().count()
        + params.reason.chars().count()
        // Each stands behind a comma and a space.
        + refs.map(|one| one.chars().count() + 2).sum::<usize>();
    if chars <= TEXT_CHARS_MAX {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::TooLarge,
        format!(
            "`ask`, `reason` and `context_refs` are longer than {TEXT_CHARS_MAX} characters together"
        ),
        "put the longest into a file in the project and name the file",
    ))
}

/// Refuses free text that is too long.
pub(super) fn check_length(field: &str, text: &str) -> Result<(), Refusal> {
    // Bytes bound characters from above, so most texts need no counting.
    if text.len() > TEXT_CHARS_MAX && text.chars().count() > TEXT_CHARS_MAX {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            format!("`{field}` is longer than {TEXT_CHARS_MAX} characters"),
            "put it into a file in the project and name the file",
        ));
    }
    Ok(())
}
