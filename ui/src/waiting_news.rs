//! [`WaitingNews`]: what has begun to wait while nobody looked at the deck.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{DaemonState, DeckView, InboxCard, InboxKind, Party};
use crate::{sanitize, text};

/// The least time between two notifications, ms. What comes in between is told together.
const GAP_MS: i64 = 10_000;

/// A terminal that never said whether it has the focus is taken for one that nobody looks at after
/// so long without a key, ms. tmux says nothing unless its `focus-events` is on.
const UNTOUCHED_MS: i64 = 60_000;

/// Columns of the project's name in a notification.
const NAME_MAX: usize = 40;

/// Knows what waits, and what of it was not seen to begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingNews {
    /// Ids of everything that the inbox tells. `None` before the first view: what it tells then is no
    /// news.
    waiting: Option<BTreeSet<String>>,
    /// Of these, what the person was not told.
    untold: BTreeMap<String, Untold>,
    /// As the terminal said; `None` when it never did.
    has_focus: Option<bool>,
    touched_ms: i64,
    told_ms: Option<i64>,
}

impl WaitingNews {
    /// The terminal says whether somebody looks. Who comes back sees for themselves.
    pub(crate) fn focus(&mut self, has_focus: bool) {
        self.has_focus = Some(has_focus);
        if has_focus {
            self.untold.clear();
        }
    }

    /// A key or the mouse.
    pub(crate) fn touched(&mut self, now_ms: i64) {
        self.touched_ms = now_ms;
        self.untold.clear();
    }

    /// Takes what waits in a new view. What is known of a daemon that is away is old.
    pub(crate) fn update(&mut self, view: &DeckView) {
        let now = match view.daemon.state {
            _ if view.opening.is_some() => return,
            DaemonState::Ended => {
                let mut all = self.waiting.clone().unwrap_or_default();
                all.insert(ENDED.to_owned());
                all
            }
            DaemonState::Starting | DaemonState::Reconnecting => return,
            DaemonState::Hosting | DaemonState::Attached => {
                view.inbox.iter().map(|card| card.id.clone()).collect()
            }
        };
        self.untold.retain(|id, _| now.contains(id));
        let known = self.waiting.replace(now);
        let (Some(known), Some(now)) = (known, &self.waiting) else {
            self.touched_ms = view.now_ms;
            return;
        };
        if !self.is_away(view.now_ms) {
            return;
        }
        for id in now.difference(&known) {
            let card = view.inbox.iter().find(|card| card.id == *id);
            let untold = card.map_or_else(Untold::ended, Untold::of);
            self.untold.insert(id.clone(), untold);
        }
    }

    fn is_away(&self, now_ms: i64) -> bool {
        match self.has_focus {
            Some(has_focus) => !has_focus,
            None => now_ms.saturating_sub(self.touched_ms) >= UNTOUCHED_MS,
        }
    }

    /// The clock was put back.
    pub(crate) fn put_back(&mut self, by_ms: i64) {
        self.touched_ms = self.touched_ms.saturating_sub(by_ms);
        self.told_ms = self.told_ms.map(|told| told.saturating_sub(by_ms));
    }

    /// When there is something to tell, ms since the epoch.
    pub(crate) fn due_ms(&self) -> Option<i64> {
        let due = self.told_ms.map_or(0, |told| told.saturating_add(GAP_MS));
        (!self.untold.is_empty()).then_some(due)
    }

    /// One harmless sentence about everything that is to be told now. It names nobody's words:
    /// they may hold what should not leave this terminal.
    pub(crate) fn tell(&mut self, project: &str, now_ms: i64) -> Option<String> {
        self.due_ms().filter(|due| *due <= now_ms)?;
        let untold = std::mem::take(&mut self.untold);
        self.told_ms = Some(now_ms);
        let what = together(untold.into_values().collect());
        let project = text::fit(&sanitize::line(project), NAME_MAX);
        Some(match project.as_str() {
            "" => what,
            project => format!("{project}: {what}"),
        })
    }

    /// Nobody is told of what is new now.
    pub(crate) fn forget(&mut self) {
        self.untold.clear();
    }
}

/// Stands among the ids; no card has it.
const ENDED: &str = "the daemon";

/// Something that the person was not told.
#[derive(Debug, Clone)]
struct Untold {
    sentence: String,
    /// Counted by the header as well. All else the inbox only tells.
    waits: bool,
}

impl Untold {
    fn of(card: &InboxCard) -> Self {
        Self {
            sentence: sentence(card),
            waits: card.kind.waits(),
        }
    }

    fn ended() -> Self {
        Self {
            sentence: "its daemon has ended".to_owned(),
            waits: false,
        }
    }
}

/// All of it in one sentence; what waits for nobody is not counted among what does.
fn together(untold: Vec<Untold>) -> String {
    if let [only] = untold.as_slice() {
        return only.sentence.clone();
    }
    let waiting = untold.iter().filter(|it| it.waits).count();
    let new = untold.len() - waiting;
    let waiting_words = match waiting {
        1 => "1 thing waits for you".to_owned(),
        many => format!("{many} things wait for you"),
    };
    match (waiting, new) {
        (_, 0) => waiting_words,
        (0, many) => format!("{many} things are new, none of them waits for you"),
        (_, 1) => format!("{waiting_words}, 1 more is new"),
        (_, many) => format!("{waiting_words}, {many} more are new"),
    }
}

fn sentence(card: &InboxCard) -> String {
    let by = match &card.by {
        Party::Other(_) => "somebody",
        known => known.title(),
    };
    match card.kind {
        InboxKind::Finality => format!("{by} says that the work is done"),
        InboxKind::Approval => format!("{by} asks to be allowed something"),
        InboxKind::Question => format!("{by} asks you something"),
        InboxKind::Trust => "a change of the configuration waits for your trust".to_owned(),
        InboxKind::Alarm => "a delivery needs you".to_owned(),
        InboxKind::Tampering => "somebody else was at the record".to_owned(),
        InboxKind::Trouble | InboxKind::Setup | InboxKind::Notice => {
            "something is not as it should be".to_owned()
        }
        InboxKind::CutOff => format!("a turn of {by}'s ended early"),
        InboxKind::Limited => format!("{by} is at its usage limit"),
        InboxKind::Full => format!("{by}'s context is nearly full"),
        InboxKind::Stuck => format!("{by}'s turn gives no sign for long"),
    }
}
