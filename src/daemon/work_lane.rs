//! [`WorkLane`]: what may wait for a disk, done beside the loop one after the other.

use tokio::sync::mpsc;

use super::event::Event;

/// Something that is done on a thread that may wait; what comes of it is an event.
pub(super) type LaneWork = Box<dyn FnOnce() -> Event + Send>;

/// Work that is done in the order in which it was given. All of it belongs to calls, of which a
/// client has so many at once.
#[derive(Debug, Default)]
pub(super) struct WorkLane {
    work: Option<mpsc::UnboundedSender<LaneWork>>,
}

impl WorkLane {
    /// Takes work on, which tells what comes of it through `events`.
    pub(super) fn take(&mut self, events: &mpsc::WeakSender<Event>, work: LaneWork) {
        let lane = self.work.get_or_insert_with(|| {
            let (lane, mut work) = mpsc::unbounded_channel::<LaneWork>();
            let events = events.clone();
            tokio::spawn(async move {
                while let Some(work) = work.recv().await {
                    let done = tokio::task::spawn_blocking(work).await;
                    tell(events.upgrade(), done).await;
                }
            });
            lane
        });
        // It ends with this lane alone.
        let _ = lane.send(work);
    }
}

/// Tells the loop what came of work beside it.
pub(super) async fn tell(
    events: Option<mpsc::Sender<Event>>,
    done: Result<Event, tokio::task::JoinError>,
) {
    match (done, events) {
        (Ok(event), Some(events)) => drop(events.send(event).await),
        // Nobody hears it any more.
        (Ok(_), None) => {}
        (Err(error), _) => tracing::error!(%error, "work beside the loop failed"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::wire::control::Role;

    #[tokio::test]
    async fn a_lane_does_one_thing_after_the_other() {
        let (events, mut told) = mpsc::channel(64);
        let weak = events.downgrade();
        let mut lane = WorkLane::default();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let first = move || {
            let _ = gone.recv();
            Event::Outdated { role: Role::Claude }
        };
        lane.take(&weak, Box::new(first));
        let later = [Role::Cli, Role::Deck, Role::Codex];
        for role in later {
            lane.take(&weak, Box::new(move || Event::Outdated { role }));
        }
        assert!(told.try_recv().is_err(), "nothing overtakes the first");
        drop(go);
        for role in [Role::Claude].into_iter().chain(later) {
            match told.recv().await.unwrap() {
                Event::Outdated { role: next } => assert_eq!(next, role),
                other => panic!("{other:?}"),
            }
        }
    }
}
