//! `read_context`: the latest entries and all open handoffs, as agents get them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::checks::unreadable;
use super::checks::{check_cursor, not_found, shortened};
use crate::adapters::git::facts::git_facts;
use crate::core::agent::Agent;
use crate::core::continuity::{GitFacts, Packet, PacketTerms};
use crate::core::entry::{Entry, EntryKind, ReloadCause};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::core::review::with_suggestions;
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::rules_reading::RulesReading;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::owners::{Agents, Base};
use crate::daemon::reply::{ReplySender, answer};
use crate::store::ledger::{EntryFilter, Ledger, Stored};
use crate::wire::control::{
    ContextPage, ContextView, ReadContextParams, Refusal, Reply, Role, WorkText,
};

/// Entries per page when nobody names a number.
const PAGE: u32 = 20;

/// The most that one page can have.
const PAGE_MAX: u32 = 200;

/// How far back one call looks for entries that fit the view.
const SCAN_MAX: usize = 5_000;

/// How many entries are read at once, at least: some of them are no substance.
const READ_MIN: usize = 16;

/// How long git is asked where the work tree stands: an agent waits for it. What is told of its work
/// then says nothing of that.
const GIT_WAIT: Duration = Duration::from_secs(2);

/// An agent that asks for what is its own.
struct AskingAgent {
    agent: Agent,
    pair: RuntimeSession,
    /// The project's folder.
    root: PathBuf,
    /// None where the operator has them not given.
    rules: Option<RulesReading>,
}

impl Agents {
    /// Reads for a client of `role`; for a Claude only of its pair, unless it asks for all.
    pub(super) fn read_context(
        &self,
        base: &Base,
        conn: ConnId,
        role: Role,
        params: ReadContextParams,
        reply: ReplySender,
    ) {
        let own = base.clients.pair(conn, None);
        let shares_rules = base.configuration.shares_rules();
        let asking = role.agent().map(|agent| AskingAgent {
            agent,
            pair: own.clone(),
            root: base.dirs.root.clone(),
            rules: shares_rules.then(|| self.rules_reading(base, agent, &own, true)),
        });
        let is_of_pair = role == Role::Claude && !params.all_pairs;
        let pair = is_of_pair.then_some(own);
        read(
            &base.recorder,
            &base.readers,
            conn,
            pair,
            asking,
            params,
            reply,
        );
    }
}

/// Reads beside the loop; of one `pair`, and what belongs to none, or of all.
fn read<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    pair: Option<RuntimeSession>,
    asking: Option<AskingAgent>,
    params: ReadContextParams,
    reply: ReplySender,
) {
    let (ledger, world) = (recorder.ledger().clone(), Arc::clone(recorder.world()));
    if let ContextView::Resume | ContextView::Instructions = params.view {
        let Some(asking) = asking else {
            return answer(reply, Err(no_agent(params.view)));
        };
        let AskingAgent {
            agent,
            pair,
            root,
            rules,
        } = asking;
        if params.view == ContextView::Instructions {
            let read = move || Ok(Reply::Work(rules_of(rules.as_ref())));
            return readers.read(conn, reply, read);
        }
        let redactor = Arc::clone(recorder.redactor());
        return readers.read_with_git(conn, reply, GIT_WAIT, move |deadline| {
            let mut work = work_of(&world, git_facts(&root, deadline).as_ref(), agent, &pair);
            // What git tells was never masked.
            if let (Cow::Owned(masked), _) = redactor.redact_text(&work.text) {
                work.text = masked;
            }
            Ok(Reply::Work(work))
        });
    }
    readers.read(conn, reply, move || {
        context(&ledger, world, pair, &params).map(Reply::Context)
    });
}

/// All that the record holds of an agent's work. The same world and work tree give the same text,
/// so that it can be read in pages.
fn work_of(
    world: &Snapshot,
    git: Option<&GitFacts>,
    agent: Agent,
    pair: &RuntimeSession,
) -> WorkText {
    let at = jiff::Timestamp::from_millisecond(world.last_at_ms).unwrap_or_default();
    let terms = PacketTerms {
        agent,
        pair,
        cause: &ReloadCause::Asked,
        at: &at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        chars_max: usize::MAX,
    };
    let text = Packet::of(world, git, terms).map_or_else(
        || {
            "The record holds nothing of your work yet: append_note says what it is (goal, plan, \
             next_step)."
                .to_owned()
        },
        |packet| packet.text,
    );
    WorkText {
        text,
        seq: world.seq,
    }
}

/// All rules that the agent does not read by itself, masked as they are read.
fn rules_of(rules: Option<&RulesReading>) -> WorkText {
    let text = match rules {
        None => Some("The operator has the rules of other agents' files not given.".to_owned()),
        Some(rules) => rules.read(usize::MAX).shared.text(usize::MAX, ""),
    };
    let text = text
        .unwrap_or_else(|| "You read all of the project's files of rules by yourself.".to_owned());
    let digest = Sha256::digest(text.as_bytes());
    WorkText {
        seq: Seq(u64::from(u16::from_be_bytes([digest[0], digest[1]]))),
        text,
    }
}

fn no_agent(view: ContextView) -> Refusal {
    Refusal::invalid(
        format!(
            "view `{}` is of the agent that asks, and this client is none",
            view.as_str()
        ),
        "see `ctxrelay continuity show`, and `ctxrelay instructions`",
    )
}

/// A page of the record and all open handoffs; of a handoff that is named, what concerns it.
pub(in crate::daemon) fn context(
    ledger: &Ledger,
    world: Arc<Snapshot>,
    pair: Option<RuntimeSession>,
    params: &ReadContextParams,
) -> Result<ContextPage, Refusal> {
    // A handoff that is named is read whosever it is.
    let pair = pair.filter(|_| params.handoff_id.is_none());
    let is_foreign = world.foreign_places();
    let open_handoffs = open_handoffs(&world, pair.as_ref(), params.handoff_id.as_ref());
    // While it is held, the loop has to copy it before it folds the next entry.
    drop(world);
    // Nothing before a handoff names it.
    let first = match &params.handoff_id {
        Some(id) => ledger.seq_of(id).map_err(|error| unreadable(&error))?,
        None => None,
    };
    let LookedBack {
        mut entries,
        next,
        unread_lines,
        looked_at,
    } = look_back(ledger, pair, params, first, &is_foreign)?;
    // Who asks for a handoff has it at once, however far back it stands.
    if let (Some(seq), true, None) = (first, next.is_some(), &params.cursor) {
        let handoff = ledger.read(seq).map_err(|error| unreadable(&error))?;
        entries.extend(handoff.map(|stored| rendered(&stored, params.view, is_foreign(seq))));
    }
    // What names one of a sealed session may stand here without it.
    if let (Some(id), None, true) = (&params.handoff_id, first, entries.is_empty()) {
        return Err(not_found(
            &format!("handoff {} in this session", shortened(id.as_str())),
            "leave the id out to see all that are open",
        ));
    }
    entries.reverse();
    Ok(ContextPage {
        entries,
        open_handoffs,
        cursor: next.map(|seq| seq.to_string()),
        unread_lines,
        looked_at,
    })
}

/// The open handoffs that a pair sees, or the one of this id.
fn open_handoffs(
    world: &Snapshot,
    pair: Option<&RuntimeSession>,
    id: Option<&EntryId>,
) -> Vec<Value> {
    let now = now_ms();
    let is_foreign = world.foreign_places();
    world
        .standing_handoffs()
        .filter(|handoff| RuntimeSession::is_shown(pair, handoff.runtime_session.as_ref()))
        .filter(|handoff| id.is_none_or(|id| handoff.id == *id))
        .map(|handoff| {
            let mut shown = json!({
                "id": handoff.id, "seq": handoff.seq, "from": handoff.from,
                "to": handoff.to, "ask": handoff.ask, "reason": handoff.reason,
                "lane": handoff.column(now).as_str(),
                "age_s": (now - handoff.at_ms).max(0) / 1000,
            });
            mark(&mut shown, is_foreign(handoff.seq));
            shown
        })
        .collect()
}

/// What one call found on its way back through the ledger, newest first.
struct LookedBack {
    entries: Vec<Value>,
    /// Where the next call goes on; none at the end.
    next: Option<u64>,
    unread_lines: u64,
    /// See [`ContextPage::looked_at`].
    looked_at: Option<(Seq, Seq)>,
}

/// Goes back through the ledger until the page is full, [`SCAN_MAX`] entries were looked at, or
/// `first` was reached.
fn look_back(
    ledger: &Ledger,
    pair: Option<RuntimeSession>,
    params: &ReadContextParams,
    first: Option<Seq>,
    is_foreign: &impl Fn(Seq) -> bool,
) -> Result<LookedBack, Refusal> {
    let limit = params.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize;
    let mut from = check_cursor(params.cursor.as_deref())?;
    let of_pair = EntryFilter {
        runtime_session: pair,
        ..EntryFilter::default()
    };
    let mut entries = Vec::new();
    let mut unread_lines = 0;
    let mut scanned = 0;
    let mut newest = None;
    let mut looked_at = None;
    let fits = |stored: &Stored| {
        (params.view != ContextView::Summary || is_substance(&stored.entry))
            && params
                .handoff_id
                .as_ref()
                .is_none_or(|id| stored.entry.id == *id || stored.entry.handles().contains(id))
    };
    let next = loop {
        // No more than can be wanted: each is a line that is read and parsed. A handoff's are few.
        let wanted = match params.handoff_id {
            Some(_) => PAGE_MAX as usize,
            None => (limit - entries.len()).max(READ_MIN),
        };
        let page = ledger
            .page(&of_pair, from, false, wanted)
            .map_err(|error| unreadable(&error))?;
        let mut last = None;
        let mut is_full = false;
        let mut is_first = false;
        for stored in &page.entries {
            let seq = stored.entry.seq;
            last = Some(seq.0);
            newest = newest.or(last);
            scanned += 1;
            if fits(stored) {
                entries.push(rendered(stored, params.view, is_foreign(seq)));
            }
            is_first = first.is_some_and(|first| seq <= first);
            is_full = entries.len() == limit || is_first;
            if is_full {
                break;
            }
        }
        // Those behind the last one shown stand on the next page.
        let unread = page.unread_lines().iter();
        let shown = |line: &&u64| !is_full || last.is_some_and(|last| **line > last);
        unread_lines += unread.filter(shown).count() as u64;
        let rest = page.next.is_some() || last != page.entries.last().map(|e| e.entry.seq.0);
        let more = rest && !is_first;
        if is_full || page.next.is_none() {
            break last.filter(|_| more);
        }
        if scanned >= SCAN_MAX {
            looked_at = last.zip(newest).map(|(from, to)| (Seq(from), Seq(to)));
            break last;
        }
        from = page.next;
    };
    Ok(LookedBack {
        entries,
        next,
        unread_lines,
        looked_at,
    })
}

/// What an agent wants to know, as opposed to the mechanics around it.
fn is_substance(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Delivery(_)
        | EntryKind::AgentChanged(_)
        | EntryKind::Turn(_)
        | EntryKind::Approval(_)
        | EntryKind::Lifecycle { .. } => false,
        // What a compaction says of all that it left behind.
        EntryKind::Other { entry_type, .. } => entry_type == EntryKind::SUMMARY,
        _ => true,
    }
}

/// As `search_record` marks what nobody vouches for.
fn mark(shown: &mut Value, is_foreign: bool) {
    if is_foreign {
        shown["foreign"] = true.into();
    }
}

fn rendered(stored: &Stored, view: ContextView, is_foreign: bool) -> Value {
    let entry = &stored.entry;
    if view == ContextView::Raw {
        let mut raw = stored.to_value();
        mark(&mut raw, is_foreign);
        return raw;
    }
    let mut shown = json!({
        "id": entry.id, "seq": entry.seq, "at": entry.timestamp_ms,
        "type": entry.kind.type_name(), "from": entry.source, "to": entry.target,
        "text": entry.content,
    });
    if let EntryKind::Handoff(handoff) = &entry.kind {
        shown["reason"] = json!(handoff.reason);
        shown["context_refs"] = json!(handoff.context_refs);
    }
    if let EntryKind::Finding(record) = &entry.kind {
        shown["text"] = json!(with_suggestions(&entry.content, &record.suggestions));
    }
    // That of a review's finding is no part of its text.
    let is_text = !matches!(entry.kind, EntryKind::Finding(_));
    if let Some(whole) = entry.whole.as_ref().filter(|_| is_text) {
        shown["whole"] = json!(whole);
    }
    mark(&mut shown, is_foreign);
    shown
}
