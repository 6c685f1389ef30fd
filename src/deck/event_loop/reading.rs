//! [`read_all`]: reads everything that the deck starts with.

use std::sync::Arc;

use crate::client::{Client, ClientError, Connection};
use crate::core::live_turn::LiveTurn;
use crate::core::snapshot::Snapshot;
use crate::deck::clock::now_ms;
use crate::deck::followed::model::Model;
use crate::wire::control::{Command, RefusalCode};
use crate::wire::status::Status;
use crate::wire::window::{DeliveryStep, WindowPage, WindowRow};

/// Pages in which the rows of the reader are read at most: more than they are.
const PAGES_MAX: usize = 8;

/// Subscribes first and reads after, so that nothing falls between.
///
/// # Errors
///
/// What could not be read, and why, in one sentence.
pub(in crate::deck) async fn read_all(client: &Client, model: &mut Model) -> Result<(), String> {
    let unreadable = |what: &'static str| {
        move |error: ClientError| {
            let refusal = error.to_refusal();
            let why = refusal.message;
            match refusal.code {
                // It says itself what cannot be read.
                RefusalCode::LedgerUnreadable => why,
                _ => format!("{what} cannot be read: {why}"),
            }
        }
    };
    let subscribed = client.call(Command::Subscribe).await;
    subscribed.map_err(unreadable("the record"))?;
    let world = client.ask_for(Command::ReadSnapshot).await;
    let world: Arc<Snapshot> = world.map_err(unreadable("the state of the record"))?;
    let window = Command::LedgerWindow(model.timeline.params());
    let rows = client.ask_for(window).await;
    let mut rows: WindowPage = rows.map_err(unreadable("the record"))?;
    let status = read_status(client).await;
    let (status, live_turn) = status.map_err(unreadable("the daemon's status"))?;
    if model.world.session_id == world.session_id {
        rows.steps.extend(steps_of_reader(client, model).await);
    }
    model.reset(Arc::unwrap_or_clone(world), rows, now_ms());
    model.take_status(*status);
    model.live_turn = live_turn;
    Ok(())
}

/// What became of the messages where the reader is, who may be far from the newest rows.
async fn steps_of_reader(client: &Client, model: &Model) -> Vec<DeliveryStep> {
    let mut steps = Vec::new();
    let mut after = None;
    for _ in 0..PAGES_MAX {
        let Some(params) = model.timeline.reads_again(after) else {
            break;
        };
        // Of what cannot be read the rows say what they said.
        let window = Command::LedgerWindow(params);
        let Ok(page) = client.ask_for::<WindowPage>(window).await else {
            break;
        };
        steps.extend(page.steps);
        after = page.stopped_at.or(page.rows.last().map(WindowRow::last));
        if after.is_none() || !page.has_newer {
            break;
        }
    }
    steps
}

/// The daemon's status, and what Codex's turn has done so far; nothing of that where the daemon is of
/// an earlier build. One that is gone is not asked on: a call without a connection waits for one, and
/// the deck shows nothing else meanwhile.
///
/// # Errors
///
/// When there is no status, or no daemon any more.
pub(in crate::deck) async fn read_status(
    client: &Client,
) -> Result<(Box<Status>, LiveTurn), ClientError> {
    let status = client.ask_for(Command::ReadStatus).await?;
    if !matches!(&*client.connection().borrow(), Connection::Connected(_)) {
        return Err(ClientError::Unanswered);
    }
    match client.ask_for(Command::ReadTurn).await {
        Err(error) if error.is_lost() => Err(error),
        live_turn => Ok((status, live_turn.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{read_all, read_status};
    use crate::client::ClientError;
    use crate::client::fake_daemon::{Answering, FakeDaemon, Place};
    use crate::core::entry::EntryKind;
    use crate::core::id::Seq;
    use crate::core::live_turn::LiveTurn;
    use crate::core::snapshot::Snapshot;
    use crate::deck::deck_about::DeckAbout;
    use crate::deck::followed::model::{DaemonLink, Model, entry};
    use crate::wire::control::{Command, Refusal, RefusalCode, Reply, Role};
    use crate::wire::window::{DeliveryStep, WindowPage, WindowPlace, WindowRow};

    fn rows(lines: std::ops::RangeInclusive<u64>) -> Vec<WindowRow> {
        let row = |line: u64| {
            let value = json!({"schema": "v1", "id": format!("e{line}"), "timestamp": 1_000 * line,
                "sessionId": "s", "type": "message", "source": "claude", "target": "codex",
                "content": "text"});
            WindowRow::of(entry(value, Some(line)).unwrap())
        };
        lines.map(row).collect()
    }

    fn proof() -> DeliveryStep {
        let value = json!({"schema": "v1", "id": "d500", "timestamp": 5, "sessionId": "s",
            "type": "runtime_event", "source": "system", "content": "", "runtimeEvent":
            {"kind": "message_delivery", "status": "confirmed", "messageId": "e1", "to": "codex"}});
        let EntryKind::Delivery(record) = entry(value, Some(500)).unwrap().kind else {
            panic!("no step");
        };
        DeliveryStep {
            record,
            at_ms: 5,
            line: 500,
        }
    }

    fn page(lines: std::ops::RangeInclusive<u64>, has_newer: bool) -> WindowPage {
        WindowPage {
            rows: rows(lines),
            head: 500,
            has_newer,
            ..WindowPage::default()
        }
    }

    /// What is said where the daemon refuses a command.
    async fn why_unread(refused: Command, code: RefusalCode, message: &str) -> String {
        let place = Place::default();
        let refused = refused.method();
        let refusal = Refusal::new(code, message, "");
        let _daemon = FakeDaemon::start(&place, move |command| match command.method() {
            method if method == refused => Answering::Refuse(refusal.clone()),
            _ => Answering::Reply(Reply::Done),
        })
        .await;
        let mut model = Model::new(DaemonLink::Attached, DeckAbout::default());
        let client = place.client(Role::Deck);
        read_all(&client, &mut model).await.unwrap_err()
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_said_once_whatever_the_reason_begins_with() {
        let message = "the recorder has ended";
        assert_eq!(
            why_unread(Command::Subscribe, RefusalCode::DaemonEnded, message).await,
            "the record cannot be read: the recorder has ended"
        );
        let message = "the record could not be read: its file is shorter";
        assert_eq!(
            why_unread(
                Command::ReadSnapshot,
                RefusalCode::LedgerUnreadable,
                message
            )
            .await,
            message
        );
    }

    #[tokio::test]
    async fn a_daemon_that_went_away_under_its_status_is_asked_nothing_more() {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, |command| match command {
            Command::ReadStatus => Answering::HangUp,
            _ => Answering::Reply(Reply::Done),
        })
        .await;
        let read = read_status(&place.client(Role::Deck)).await;
        assert_eq!(read.unwrap_err(), ClientError::Unanswered);
        // It could be asked: it takes connections as before.
        let asked = daemon.so_far().into_iter();
        let asked: Vec<_> = asked.map(|command| command.method()).collect();
        assert_eq!(asked, [Command::ReadStatus.method()]);
    }

    #[tokio::test]
    async fn a_daemon_that_knows_no_turn_tells_its_status_all_the_same() {
        let place = Place::default();
        let _daemon = FakeDaemon::start(&place, |command| match command {
            Command::ReadStatus => Answering::Reply(Reply::Status(Box::default())),
            _ => Answering::Refuse(Refusal::new(RefusalCode::Protocol, "unknown", "")),
        })
        .await;
        let (_, live_turn) = read_status(&place.client(Role::Deck)).await.unwrap();
        assert_eq!(live_turn, LiveTurn::default());
    }

    #[tokio::test]
    async fn what_became_of_the_rows_of_a_reader_far_back_is_read_again() {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, |command| {
            Answering::Reply(match command {
                Command::ReadSnapshot => Reply::Snapshot(Arc::new(Snapshot {
                    seq: Seq(500),
                    ..Snapshot::default()
                })),
                Command::ReadStatus => Reply::Status(Box::default()),
                Command::LedgerWindow(asked) => Reply::Window(match asked.place {
                    WindowPlace::After(0) => WindowPage {
                        steps: vec![proof()],
                        ..page(1..=200, true)
                    },
                    WindowPlace::After(200) => page(201..=400, true),
                    _ => page(301..=500, false),
                }),
                _ => Reply::Done,
            })
        })
        .await;
        let client = place.client(Role::Deck);
        let mut model = Model::new(DaemonLink::Attached, DeckAbout::default());
        let world = Snapshot {
            seq: Seq(300),
            ..Snapshot::default()
        };
        let begun = WindowPage {
            head: 300,
            has_older: true,
            ..page(101..=300, false)
        };
        model.reset(world, begun, 0);
        let older = WindowPage {
            head: 300,
            ..page(1..=100, true)
        };
        model.take_rows(WindowPlace::Before(101), older);
        read_all(&client, &mut model).await.unwrap();
        assert!(model.deliveries.contains_key(&"e1".into()));
        let asked = daemon.so_far().into_iter();
        let asked = asked.filter_map(|command| match command {
            Command::LedgerWindow(asked) => Some(asked.place),
            _ => None,
        });
        assert_eq!(
            asked.collect::<Vec<_>>(),
            [
                WindowPlace::Newest,
                WindowPlace::After(0),
                WindowPlace::After(200)
            ]
        );
    }
}
