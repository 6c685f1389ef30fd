//! [`UnclearMessages`]: messages whose arrival nobody can know, and those that a paused Codex keeps
//! waiting, kept current entry by entry; and the row of the former for each receiver.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctxrelay_ui::{model as ui, text};

use crate::core::agent::Agent;
use crate::core::entry::DeliveryResult;
use crate::core::id::EntryId;
use crate::core::snapshot::{MessageSnapshot, Snapshot};
use crate::deck::followed::work::Touched;
use crate::deck::party::{agent_of, party_of};

/// Messages that are listed; the others follow once these are settled.
const LISTED_MAX: usize = 500;

/// Beginnings that are kept: all that are listed, of both agents.
const WORDS_MAX: usize = 2 * LISTED_MAX;

/// Characters of the first message on the row.
const ROW_CHARS: usize = 80;

/// Such messages, and their beginnings as far as they were read.
#[derive(Debug, Clone, Default)]
pub struct UnclearMessages {
    words: BTreeMap<u64, String>,
    to_claude: UnclearLane,
    to_codex: UnclearLane,
    /// Messages for Codex that no attempt was made for, by their line.
    waiting: BTreeMap<u64, EntryId>,
    /// Where each of them stands.
    known: BTreeMap<EntryId, (u64, UnprovenState)>,
    /// Messages that were looked at.
    #[cfg(test)]
    pub(in crate::deck) looked_at: usize,
}

/// Those for one agent, by their line.
#[derive(Debug, Clone, Default)]
struct UnclearLane {
    all: BTreeMap<u64, EntryId>,
    /// The oldest ones, as the screen lists them.
    listed: Arc<[ui::UnclearMessage]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnprovenState {
    Unclear(Agent),
    Waiting,
}

impl UnprovenState {
    fn of(message: &MessageSnapshot) -> Option<Self> {
        match message.result {
            Some(DeliveryResult::Ambiguous) => Some(Self::Unclear(message.to)),
            None | Some(DeliveryResult::Requeued) if message.to == Agent::Codex => {
                Some(Self::Waiting)
            }
            _ => None,
        }
    }
}

impl UnclearMessages {
    /// All of a world; beginnings that were read stay, where it is the world of the same record.
    pub(in crate::deck) fn begin_again(&mut self, world: &Snapshot, is_same_record: bool) {
        let words = std::mem::take(&mut self.words);
        *self = Self::default();
        if is_same_record {
            self.words = words;
        }
        for id in world.unsettled.keys() {
            self.update(world, id);
        }
        for agent in Agent::ALL {
            self.list(world, agent);
        }
    }

    /// Takes over what an entry has changed, once it is folded in.
    pub(in crate::deck) fn take(&mut self, world: &Snapshot, touched: &Touched) {
        let Touched::Some(ids) = touched else {
            return self.begin_again(world, true);
        };
        let mut changed: Vec<(Agent, u64)> = Vec::new();
        for (id, _) in ids {
            changed.extend(self.update(world, id));
        }
        for (agent, line) in changed {
            let listed = &self.lane(agent).listed;
            let is_full = listed.len() >= LISTED_MAX;
            if !is_full || listed.last().is_some_and(|last| line <= last.line) {
                self.list(world, agent);
            }
        }
    }

    /// Takes over where a message stands now: the lanes that it left or came into.
    fn update(&mut self, world: &Snapshot, id: &EntryId) -> Vec<(Agent, u64)> {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let message = world.unsettled.get(id);
        let now = message.and_then(|message| Some((message.seq.0, UnprovenState::of(message)?)));
        let mut changed = Vec::new();
        if self.known.get(id).copied() == now {
            return changed;
        }
        if let Some((line, state)) = self.known.remove(id) {
            match state {
                UnprovenState::Waiting => self.waiting.remove(&line),
                UnprovenState::Unclear(agent) => {
                    changed.push((agent, line));
                    self.lane_mut(agent).all.remove(&line)
                }
            };
        }
        if let Some((line, state)) = now {
            match state {
                UnprovenState::Waiting => self.waiting.insert(line, id.clone()),
                UnprovenState::Unclear(agent) => {
                    changed.push((agent, line));
                    self.lane_mut(agent).all.insert(line, id.clone())
                }
            };
            self.known.insert(id.clone(), (line, state));
        }
        changed
    }

    /// Makes the list of a lane.
    fn list(&mut self, world: &Snapshot, agent: Agent) {
        let first = self.lane(agent).all.values().take(LISTED_MAX);
        let listed: Arc<[_]> = first
            .filter_map(|id| Some(self.listed(id, world.unsettled.get(id)?)))
            .collect();
        #[cfg(test)]
        {
            self.looked_at += listed.len();
        }
        self.lane_mut(agent).listed = listed;
    }

    fn lane(&self, agent: Agent) -> &UnclearLane {
        match agent {
            Agent::Claude => &self.to_claude,
            Agent::Codex => &self.to_codex,
        }
    }

    fn lane_mut(&mut self, agent: Agent) -> &mut UnclearLane {
        match agent {
            Agent::Claude => &mut self.to_claude,
            Agent::Codex => &mut self.to_codex,
        }
    }

    /// Beginnings of messages were read, by their lines.
    pub(in crate::deck) fn read(&mut self, world: &Snapshot, words: Vec<(u64, String)>) {
        for (line, words) in words {
            if self.words.len() >= WORDS_MAX {
                self.words.pop_first();
            }
            self.words.insert(line, words);
        }
        for agent in Agent::ALL {
            self.list(world, agent);
        }
    }

    /// All that are unclear.
    pub(in crate::deck) fn ids(&self) -> impl Iterator<Item = &EntryId> {
        let lanes = [&self.to_claude, &self.to_codex];
        lanes.into_iter().flat_map(|lane| lane.all.values())
    }

    /// How many are unclear.
    pub(in crate::deck) fn count(&self) -> usize {
        self.to_claude.all.len() + self.to_codex.all.len()
    }

    /// Messages for Codex that wait, oldest first.
    pub(in crate::deck) fn waiting_for_codex(&self) -> impl Iterator<Item = &EntryId> {
        self.waiting.values()
    }

    /// A card for each agent that such messages are for.
    pub(in crate::deck) fn cards(&self) -> Vec<ui::InboxCard> {
        let cards = Agent::ALL.into_iter();
        cards.filter_map(|to| self.card(to)).collect()
    }

    fn card(&self, to: Agent) -> Option<ui::InboxCard> {
        let lane = self.lane(to);
        let first = lane.listed.first()?;
        let count = lane.all.len();
        let counted = format!(
            "{} ambiguous to {}",
            text::grouped(count as u64),
            to.title()
        );
        Some(ui::InboxCard {
            seq: Some(first.line),
            unclear: Arc::clone(&lane.listed),
            unclear_more: count.saturating_sub(lane.listed.len()) as u64,
            ..ui::InboxCard::new(
                ui::InboxKind::Alarm,
                format!("ambiguous-{to}"),
                agent_of(to),
                first.at_ms,
                summary(counted, first),
            )
        })
    }

    /// A card for the messages whose turn ended early: the oldest of so many.
    pub(in crate::deck) fn cut_off_card(
        &self,
        world: &Snapshot,
        to: Agent,
        ids: &[EntryId],
        count: u64,
    ) -> Option<ui::InboxCard> {
        let known = |id: &EntryId| {
            let cut_off = world.cut_off.get(id);
            cut_off.or_else(|| world.unsettled.get(id)).map(Arc::as_ref)
        };
        let listed: Arc<[_]> = ids
            .iter()
            .filter_map(|id| Some(self.listed(id, known(id)?)))
            .collect();
        let first = listed.first()?.clone();
        let counted = format!("{} to {}", text::grouped(count), to.title());
        Some(ui::InboxCard {
            seq: Some(first.line),
            unclear_more: count.saturating_sub(listed.len() as u64),
            unclear: listed,
            ..ui::InboxCard::new(
                ui::InboxKind::CutOff,
                format!("cut-off-{to}"),
                agent_of(to),
                first.at_ms,
                summary(counted, &first),
            )
        })
    }

    fn listed(&self, id: &EntryId, message: &MessageSnapshot) -> ui::UnclearMessage {
        ui::UnclearMessage {
            id: id.to_string(),
            line: message.seq.0,
            at_ms: message.at_ms,
            from: party_of(&message.from),
            words: self.words.get(&message.seq.0).cloned(),
        }
    }
}

/// How many there are, and how the first one begins.
fn summary(mut counted: String, first: &ui::UnclearMessage) -> String {
    if let Some(words) = &first.words {
        let words: String = words.chars().take(ROW_CHARS).collect();
        counted.push_str(&format!(": \u{201c}{words}\u{201d}"));
    }
    counted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::id::Seq;

    fn message(seq: u64, result: &str) -> MessageSnapshot {
        let message = json!({"seq": seq, "from": "codex", "to": "claude", "at_ms": seq,
            "runtime_session": null, "on_busy": "queue", "result": result, "rung": null});
        serde_json::from_value(message).unwrap()
    }

    fn id(seq: u64) -> EntryId {
        EntryId::new(format!("m{}", 90_000 - seq))
    }

    fn world(count: u64) -> Snapshot {
        let mut world = Snapshot::default();
        for seq in 1..=count {
            world
                .unsettled
                .insert(id(seq), Arc::new(message(seq, "ambiguous")));
        }
        world
    }

    fn of(world: &Snapshot) -> UnclearMessages {
        let mut messages = UnclearMessages::default();
        messages.begin_again(world, false);
        messages
    }

    #[test]
    fn five_thousand_are_one_card_that_lists_the_oldest() {
        let world = world(5_000);
        let mut messages = of(&world);
        messages.read(&world, vec![(1, "look at plum.rs".to_owned())]);
        let cards = messages.cards();
        assert_eq!(cards.len(), 1);
        let card = &cards[0];
        assert_eq!(
            card.summary,
            "5 000 ambiguous to Claude: \u{201c}look at plum.rs\u{201d}"
        );
        assert_eq!(card.unclear.len(), LISTED_MAX);
        assert_eq!(card.unclear_more, 4_500);
        let lines: Vec<u64> = card.unclear.iter().map(|message| message.line).collect();
        assert!(lines.is_sorted());
        assert_eq!(card.seq, Some(1));
    }

    #[test]
    fn what_was_cut_off_is_a_list_of_its_own_that_nobody_waits_for() {
        let mut world = world(1);
        let ids: Vec<EntryId> = (3..=4).map(id).collect();
        for seq in 3..=4 {
            let cut_off = Arc::new(message(seq, "confirmed"));
            world.cut_off.insert(id(seq), cut_off);
        }
        let mut messages = of(&world);
        messages.read(&world, vec![(3, "look at plum.rs".to_owned())]);
        let card = messages
            .cut_off_card(&world, Agent::Codex, &ids, 7)
            .unwrap();
        assert!(!card.kind.waits());
        assert_eq!(card.summary, "7 to Codex: \u{201c}look at plum.rs\u{201d}");
        let lines: Vec<u64> = card.unclear.iter().map(|message| message.line).collect();
        assert_eq!((lines, card.unclear_more), (vec![3, 4], 5));
        let none = messages.cut_off_card(&world, Agent::Claude, &[], 0);
        assert_eq!(none, None);
    }

    #[test]
    fn what_is_known_of_its_receiver_is_no_card() {
        let mut world = world(2);
        for message in world.unsettled.values_mut() {
            Arc::make_mut(message).result = Some(DeliveryResult::Confirmed);
        }
        assert_eq!(of(&world).cards(), []);
    }

    #[test]
    fn an_entry_has_its_own_message_looked_at_and_the_list_made_where_it_stands_in_it() {
        let mut world = world(50_000);
        let mut messages = of(&world);
        messages.looked_at = 0;
        let listed = messages.cards()[0].unclear.clone();
        let touch = |messages: &mut UnclearMessages, world: &Snapshot, seq: u64| {
            messages.take(world, &Touched::Some(vec![(id(seq), None)]));
            std::mem::take(&mut messages.looked_at)
        };
        // Another one, that nobody sees yet.
        world
            .unsettled
            .insert(id(50_001), Arc::new(message(50_001, "ambiguous")));
        assert_eq!(touch(&mut messages, &world, 50_001), 1);
        let card = messages.cards().remove(0);
        assert!(Arc::ptr_eq(&card.unclear, &listed), "the same list");
        assert_eq!(card.unclear_more, 49_501);
        // What has nothing to do with them.
        assert_eq!(touch(&mut messages, &world, 60_000), 1);
        // One of the list is settled, and the next one follows.
        world.unsettled.remove(&id(7));
        assert_eq!(touch(&mut messages, &world, 7), 1 + LISTED_MAX);
        let card = messages.cards().remove(0);
        let last = card.unclear.last().unwrap();
        assert_eq!((last.line, card.unclear_more), (501, 49_500));
        assert_eq!(messages.count(), messages.ids().count());
        let same = of(&world).cards();
        assert_eq!(messages.cards(), same, "as made of the whole world");
    }

    #[test]
    fn what_waits_for_codex_stands_in_its_order() {
        let mut world = Snapshot::default();
        for (seq, result) in [(3, None), (2, Some(DeliveryResult::Requeued)), (1, None)] {
            let message = MessageSnapshot {
                to: Agent::Codex,
                seq: Seq(seq),
                result,
                ..message(seq, "ambiguous")
            };
            world.unsettled.insert(id(seq), Arc::new(message));
        }
        let mut messages = of(&world);
        let waiting = |messages: &UnclearMessages| -> Vec<EntryId> {
            messages.waiting_for_codex().cloned().collect()
        };
        assert_eq!(waiting(&messages), [1, 2, 3].map(id));
        world.unsettled.remove(&id(1));
        messages.take(&world, &Touched::Some(vec![(id(1), None)]));
        assert_eq!(waiting(&messages), [2, 3].map(id));
    }
}
