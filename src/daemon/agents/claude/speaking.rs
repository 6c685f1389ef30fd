//! What Claude said of its work, in its own words, in a whole turn. Its transcript is read beside
//! the loop; no hook waits for that.

use crate::core::agent::{Agent, AgentState};
use crate::core::continuity::{markers, markers_of_turn};
use crate::core::entry::TurnFiles;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::spoken_turns::SpokenReading;
use crate::daemon::base::under_way::{UnderWay, WorkBeside};
use crate::daemon::base::work_queue::QueuedWork;
use crate::daemon::event::{ClaudeSpoke, Event};
use crate::daemon::owners::{Agents, Base};
use crate::wire::control::{HookEvent, HookParams};

impl Agents {
    /// Has what Claude said since its last stop searched for marks. At the beginning of a turn only
    /// how far its transcript goes by then is noted.
    pub(super) fn search_claudes_words(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) {
        if !self.read_claudes_words(base, pair, params)
            && let Some(last) = params.text.as_deref().filter(|_| ends_turn(&params.event))
        {
            let said = [last.to_owned()];
            self.hear(base, Agent::Claude, pair, &said, markers(last), true);
        }
    }

    /// What Claude said was read.
    pub(in crate::daemon) fn on_claude_spoke(&mut self, base: &mut Base, spoke: ClaudeSpoke) {
        drop(spoke.under_way);
        self.spoken.was_read();
        base.work_done(&WorkBeside::SpokenWords { ended: None });
        if !spoke.unfinished.is_empty() {
            let files = TurnFiles {
                unfinished: spoke.unfinished,
                ..TurnFiles::default()
            };
            base.append_files(&spoke.pair, files);
        }
        // What is read of a turn when the next one runs already is read with that one's end.
        let now = self
            .claude
            .state(&spoke.pair)
            .map(|claude| claude.now().state);
        let is_over = spoke.is_over && now != Some(AgentState::Busy);
        let agent = Agent::Claude;
        self.hear(
            base,
            agent,
            &spoke.pair,
            &spoke.texts,
            spoke.markers,
            is_over,
        );
    }

    /// Whether that is under way: not without a transcript's path, and not for one runtime session
    /// or one hook too many.
    fn read_claudes_words(
        &mut self,
        base: &Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) -> bool {
        let Some(path) = params.transcript_path() else {
            return false;
        };
        let Some(words) = self.spoken.of(pair) else {
            return false;
        };
        let (path, pair) = (path.to_owned(), pair.clone());
        let (event, last) = (params.event.clone(), params.text.clone());
        let ended = ends_turn(&event).then(|| pair.clone());
        if let Some(pair) = &ended {
            self.spoken.ended().reads_end(pair);
        }
        let at_ms = base.clock.now_ms();
        let what = WorkBeside::SpokenWords { ended };
        let work = base.queued_work(what, move |under_way| {
            let read = match &event {
                HookEvent::UserPromptSubmit => words.turn_begins(&path),
                event if ends_turn(event) => words.at_stop(&path, last.as_deref()),
                _ => words.so_far(&path),
            };
            spoke(pair, read, at_ms, ends_turn(&event), under_way)
        });
        self.read_spoken(base, work);
        true
    }

    /// Has words read, one time after the other: each reads on where the one before ended.
    pub(in crate::daemon) fn read_spoken(&mut self, base: &Base, work: QueuedWork) {
        self.spoken.is_to_be_read();
        self.transcripts_work.take(&base.events, work);
    }

    /// Claude is gone, or begins again: a turn that ran has ended without a word.
    pub(in crate::daemon) fn leave_claudes_turn(&mut self, base: &mut Base, pair: &RuntimeSession) {
        self.append_touched(base, pair);
        let Some(words) = self.spoken.known(pair) else {
            return;
        };
        let pair = pair.clone();
        let at_ms = base.clock.now_ms();
        let what = WorkBeside::SpokenWords { ended: None };
        let work = base.queued_work(what, move |under_way| {
            spoke(pair, words.left(), at_ms, false, under_way)
        });
        self.read_spoken(base, work);
    }
}

/// What was read, as the loop hears of it.
fn spoke(
    pair: RuntimeSession,
    read: SpokenReading,
    at_ms: i64,
    is_over: bool,
    under_way: UnderWay,
) -> Event {
    Event::ClaudeSpoke(ClaudeSpoke {
        pair,
        markers: markers_of_turn(&read.texts),
        texts: read.texts,
        unfinished: read.unfinished,
        blocked: read.blocked,
        at_ms,
        given: read.given,
        is_over,
        under_way,
    })
}

fn ends_turn(event: &HookEvent) -> bool {
    matches!(event, HookEvent::Stop | HookEvent::StopFailure)
}
