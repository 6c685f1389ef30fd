//! [`perform`]: carries out the screen's wishes as calls to the daemon; each ends in a notice.

use ctxrelay_ui::model::{self as ui, Level};
use ctxrelay_ui::text::grouped;
use ctxrelay_ui::{Effect, Msg, NoteTag, WhenBusy};

use crate::client::{Client, ClientError, Connection};
use crate::core::delivery::OnBusy;
use crate::core::entry::NoteKind;
use crate::core::id::{EntryId, Seq};
use crate::core::policy::{Coordinator, PolicyChange};
use crate::deck::attention;
use crate::deck::calls::agent_work::work;
use crate::deck::calls::notice::{failed, failure, notice};
use crate::deck::calls::open_entry::open;
use crate::deck::calls::thread::read_thread;
use crate::deck::clock::now_ms;
use crate::deck::followed::findings::{dismiss, read_finding, resolve};
use crate::deck::followed::model::{Model, entry};
use crate::deck::followed::rows::row;
use crate::deck::party::core_agent_of;
use crate::deck::signing::DeckSignature;
use crate::wire::control::{
    AcknowledgeParams, AnswerApprovalParams, ClearParams, Cleared, Command, DecideParams,
    GatesReport, HandoffParams, NoteParams, PolicySet, Reply, RunGatesParams, SendParams, Sent,
    TrustParams,
};

/// Performs what is a call; everything else is the caller's. Returns what the screen is told.
pub(in crate::deck) async fn perform(
    effect: Effect,
    signature: Option<DeckSignature>,
    operator: &Client,
    model: &mut Model,
) -> Option<Msg> {
    match effect {
        Effect::Approve {
            proposal_id,
            stale_tree,
            seen,
            session,
        } => {
            let session_id = model.session_named(&session).cloned();
            if session_id.is_none() && !session.is_empty() {
                let text = "another session has begun: nothing was approved";
                return Some(Msg::Notice(Level::Error, text.to_owned()));
            }
            let approval = DecideParams {
                stale_tree,
                seen: Some(Seq(seen)),
                session_id,
                ..DecideParams::of(EntryId::new(proposal_id), true)
            };
            let result = decide(operator, approval, signature).await;
            Some(notice(result, "approved, on record"))
        }
        Effect::Trust { digest } => {
            let trust = Command::Trust(TrustParams {
                digest,
                signing: None,
                signature: signature.and_then(DeckSignature::act),
            });
            Some(notice(operator.call(trust).await, "trusted, on record"))
        }
        Effect::RunGates => {
            let run = Command::RunGates(RunGatesParams::default());
            let begun = operator.ask_for(run).await;
            let told = |_: GatesReport| Msg::Notice(Level::Info, "the gates run".to_owned());
            Some(begun.map_or_else(failed, told))
        }
        Effect::StopGates => Some(notice(
            operator.call(Command::StopGates).await,
            "the gates are stopped",
        )),
        Effect::Reject {
            proposal_id,
            reason,
        } => {
            let rejection = DecideParams {
                reason: Some(reason),
                ..DecideParams::of(EntryId::new(proposal_id), false)
            };
            let result = decide(operator, rejection, signature).await;
            Some(notice(result, "rejected, on record"))
        }
        Effect::AnswerApproval { id, choice, note } => {
            let answer = Command::AnswerApproval(AnswerApprovalParams {
                id: EntryId::new(id),
                choice,
                note,
            });
            Some(notice(operator.call(answer).await, "answered, on record"))
        }
        Effect::ReadWords { lines } => {
            let mut read = Vec::new();
            for line in lines {
                // Each further call would wait for a connection, and the deck with it: it could not
                // even say that the daemon is lost.
                let Some(words) = words_of(operator, model, line).await else {
                    break;
                };
                read.push((line, words));
            }
            model.unclear.read(&model.world, read);
            None
        }
        Effect::Acknowledge { id } => {
            let seen = Command::AcknowledgeAlarm(AcknowledgeParams {
                alarm_id: EntryId::new(id),
            });
            Some(notice(
                operator.call(seen).await,
                "recorded: you have seen it",
            ))
        }
        Effect::AgentAction { agent, act } => {
            let (command, done) = attention::agent_action(core_agent_of(agent), act);
            Some(notice(operator.call(command).await, &done))
        }
        Effect::SetCoordinator { to } => {
            let to = to.and_then(|party| coordinator_of(&party));
            let set = Command::SetPolicy(PolicyChange::Coordinator { to });
            let set = operator.ask_for(set).await;
            Some(set.map_or_else(failed, |set| coordinator_set(&set)))
        }
        Effect::ClearSession { session, discard } => {
            let Some(session) = model.session_named(&session) else {
                let text = "another session has begun: nothing was cleared";
                return Some(Msg::Notice(Level::Error, text.to_owned()));
            };
            let clear = Command::Clear(ClearParams {
                // The daemon refuses where yet another one has begun.
                session_id: Some(session.clone()),
                discard,
                signature: signature.and_then(DeckSignature::act),
            });
            let cleared = operator.ask_for(clear).await;
            Some(cleared.map_or_else(failed, |cleared| was_cleared(&cleared)))
        }
        Effect::SendMessage {
            to,
            text,
            when_busy,
            draft,
        } => {
            let send = Command::Send(SendParams {
                from: None,
                to: Some(core_agent_of(to)),
                text,
                on_busy: on_busy(when_busy),
                ..SendParams::default()
            });
            Some(sent(operator.call(send).await, to, draft))
        }
        Effect::Handoff {
            to,
            ask,
            reason,
            when_busy,
            draft,
        } => {
            let hand_off = Command::Handoff(HandoffParams {
                from: None,
                to: Some(core_agent_of(to)),
                ask,
                reason,
                on_busy: on_busy(when_busy),
                ..HandoffParams::default()
            });
            Some(sent(operator.call(hand_off).await, to, draft))
        }
        Effect::AppendNote { tag, text, draft } => {
            let note = Command::AppendNote(NoteParams::new(None, note_kind(tag), text));
            let done = format!("recorded: your {}", tag.as_str());
            Some(written(operator.call(note).await, &done, draft))
        }
        Effect::OpenEntry { place } => open(operator, model, place).await,
        Effect::ShowTimeline(wish) => show_timeline(operator, model, &wish).await,
        // They go on beside everything else.
        Effect::Search { .. } | Effect::Retry { .. } | Effect::GiveUp { .. } => None,
        Effect::OpenThread { place } => {
            let thread = read_thread(operator, model, place).await;
            Some(Msg::Thread(Box::new(thread)))
        }
        Effect::ReadWork { agent, with_log } => {
            let work = work(operator, model, agent, with_log).await;
            Some(Msg::Work(Box::new(work)))
        }
        Effect::ReadFinding { id } => Some(read_finding(operator, id).await),
        Effect::ResolveFinding { id, how } => {
            let done = format!("resolved: {id}");
            let (asked, change) = (id.clone(), resolve(id, how.clone()));
            let result = operator.call(change).await;
            Some(ruled(
                result,
                &done,
                Effect::ResolveFinding { id: asked, how },
            ))
        }
        Effect::DismissFinding { id, reason } => {
            let done = format!("dismissed: {id}");
            let (asked, change) = (id.clone(), dismiss(id, reason.clone()));
            let result = operator.call(change).await;
            Some(ruled(
                result,
                &done,
                Effect::DismissFinding { id: asked, reason },
            ))
        }
        Effect::ReadRules { .. }
        | Effect::ReadFindingPlaces { .. }
        | Effect::ReadCapsules
        | Effect::ReadCapsule { .. }
        | Effect::ExportCapsule { .. }
        | Effect::FindAlike(_)
        | Effect::BeginTask { .. }
        | Effect::HandCapsule { .. }
        | Effect::TellCapsule { .. }
        | Effect::CloseCapsule { .. }
        | Effect::EditCapsule { .. }
        | Effect::ReadRecovery
        | Effect::ReadDiff { .. }
        | Effect::ImportReview
        | Effect::Quit(_)
        | Effect::CopyText(_)
        | Effect::OpenEditor { .. }
        | Effect::LookAtTree
        | Effect::Unlock { .. }
        | Effect::LeaveUnlock
        | Effect::LockKey
        | Effect::Redraw
        | Effect::Notify { .. }
        | Effect::Suspend
        | Effect::Restart
        | Effect::SetTheme(_)
        | Effect::StartAgent(_) => None,
    }
}

fn was_cleared(cleared: &Cleared) -> Msg {
    if !cleared.left.is_empty() {
        let left = cleared.left.join("; ");
        return Msg::Notice(Level::Error, format!("not everything is deleted: {left}"));
    }
    let text = match &cleared.archive {
        Some(archive) => format!("{} entries are sealed in {archive}", cleared.entries),
        None => format!("{} entries are deleted for good", cleared.entries),
    };
    Msg::Notice(Level::Info, text)
}

/// The beginning of a message. `None`: no daemon answered, and the next one is asked.
async fn words_of(operator: &Client, model: &Model, line: u64) -> Option<String> {
    if !matches!(&*operator.connection().borrow(), Connection::Connected(_)) {
        return None;
    }
    let show = Command::LedgerShow {
        entry: line.to_string(),
        full: false,
        placed: false,
    };
    let shown = match operator.call(show).await {
        Ok(Reply::Entry(found)) => entry(found, Some(line)),
        Err(error) if error.is_lost() => return None,
        _ => None,
    };
    Some(match shown {
        Some(entry) => row(&model.row_facts(), &entry, false).text,
        None => "its text cannot be read".to_owned(),
    })
}

async fn decide(
    operator: &Client,
    params: DecideParams,
    signature: Option<DeckSignature>,
) -> Result<Reply, ClientError> {
    let signed = signature.and_then(DeckSignature::decision);
    operator.call(Command::Decide(params.signed(signed))).await
}

/// Reads the rows that are wanted. What cannot be read is told, and the wish is answered all the
/// same: with the rows that there were.
async fn show_timeline(
    operator: &Client,
    model: &mut Model,
    wish: &ui::TimelineWish,
) -> Option<Msg> {
    for params in model.timeline.asks(wish, now_ms()) {
        let place = params.place;
        match operator.ask_for(Command::LedgerWindow(params)).await {
            Ok(page) => model.take_rows(place, page),
            Err(error) => {
                model.timeline.fail();
                return Some(failed(error));
            }
        }
    }
    None
}

fn sent(result: Result<Reply, ClientError>, to: ui::Agent, draft: Option<u64>) -> Msg {
    match result {
        Ok(Reply::Sent(sent)) if sent.duplicate => Msg::Written {
            level: Level::Warn,
            text: Sent::said_before(&grouped(sent.seq.0)),
            draft,
        },
        Ok(Reply::Sent(sent)) if sent.receiver_missing => Msg::Written {
            level: Level::Warn,
            text: format!(
                "recorded for {to} as entry {}, but {to} is not installed: it waits until it is",
                grouped(sent.seq.0),
                to = to.title()
            ),
            draft,
        },
        Ok(Reply::Sent(sent)) => Msg::Sent {
            to,
            line: sent.seq.0,
            draft,
        },
        other => match failed(failure(other)) {
            Msg::Notice(_, why) => Msg::NotSent { why, draft },
            other => other,
        },
    }
}

/// What came of something that was written: refused, it is a draft again.
fn written(result: Result<Reply, ClientError>, done: &str, draft: Option<u64>) -> Msg {
    match notice(result, done) {
        Msg::Notice(Level::Error, why) => Msg::NotSent { why, draft },
        Msg::Notice(level, text) => Msg::Written { level, text, draft },
        done => done,
    }
}

/// What came of a ruling on a finding: refused, its words are there again.
fn ruled(result: Result<Reply, ClientError>, done: &str, asked: Effect) -> Msg {
    match notice(result, done) {
        Msg::Notice(Level::Error, why) => Msg::Refused {
            why,
            effect: Box::new(asked),
        },
        done => done,
    }
}

fn note_kind(tag: NoteTag) -> NoteKind {
    match tag {
        NoteTag::Note => NoteKind::Note,
        NoteTag::Decision => NoteKind::Decision,
        NoteTag::Blocker => NoteKind::Blocker,
        NoteTag::Goal => NoteKind::Goal,
        NoteTag::Plan => NoteKind::Plan,
        NoteTag::NextStep => NoteKind::NextStep,
    }
}

fn on_busy(when_busy: WhenBusy) -> OnBusy {
    match when_busy {
        WhenBusy::Wait => OnBusy::Queue,
        WhenBusy::Join => OnBusy::Steer,
        WhenBusy::DoNotSend => OnBusy::Reject,
    }
}

fn coordinator_of(party: &ui::Party) -> Option<Coordinator> {
    match party {
        ui::Party::Agent(ui::Agent::Claude) => Some(Coordinator::Claude),
        ui::Party::Agent(ui::Agent::Codex) => Some(Coordinator::Codex),
        ui::Party::Human => Some(Coordinator::Human),
        _ => None,
    }
}

/// What was set, and which instruction files say so.
fn coordinator_set(set: &PolicySet) -> Msg {
    let mut text = format!("recorded: entry {}", grouped(set.seq.0));
    if !set.rewritten.is_empty() {
        text.push_str(&format!("; {} says so", set.rewritten.join(", ")));
    }
    let level = match set.left.first() {
        Some(why) => {
            text.push_str(&format!("; left: {why}"));
            Level::Warn
        }
        None => Level::Info,
    };
    Msg::Notice(level, text)
}

#[cfg(test)]
mod tests;
