//! [`StatusLine`]: what a person reads of the pair below Claude's composer.
//!
//! Only words and figures of ours: it contains nothing that an agent wrote.

use crate::agent::AgentState;
use crate::context_fill::ContextFill;

/// Between two parts.
const BETWEEN: &str = " · ";

/// What the line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusLine {
    /// What Codex does.
    pub codex: AgentState,
    /// Messages for Codex that it does not have yet, but for the held ones.
    pub to_codex: u64,
    /// Messages for Claude that it has not acknowledged, but for the held ones.
    pub to_claude: u64,
    /// Claude's context; `None` of a Claude that is not the pair's receiver.
    pub context: Option<ContextFill>,
    /// Proposals that wait for the person.
    pub proposals: u64,
    /// Requests and questions of the agents that wait for the person.
    pub requests: u64,
    /// Messages that the agents answered each other with for too long: they wait for the person.
    pub held: u64,
}

impl StatusLine {
    /// One line of at most `columns` characters. What waits for the person stays longest; a part
    /// is whole or absent.
    pub fn text(&self, columns: usize) -> String {
        let waits = [
            count(self.proposals, "proposal", "proposals"),
            count(self.requests, "request", "requests"),
            count(self.held, "held message", "held messages"),
        ];
        let waits: Vec<String> = waits.into_iter().flatten().collect();
        let verb = match self.proposals + self.requests + self.held {
            1 => "waits",
            _ => "wait",
        };
        // In the order of worth; each with its place in the line.
        let parts = [
            (
                4,
                listed(&waits).map(|waits| format!("{waits} {verb} for you")),
            ),
            (0, Some(format!("Codex {}", self.codex.as_str()))),
            (3, self.context.as_ref().and_then(context)),
            (
                1,
                count(self.to_claude, "message for Claude", "messages for Claude"),
            ),
            (
                2,
                count(self.to_codex, "message for Codex", "messages for Codex"),
            ),
        ];
        let mut kept: Vec<(u8, String)> = Vec::new();
        let mut room = columns;
        for (place, part) in parts {
            let Some(part) = part else { continue };
            let between = if kept.is_empty() {
                0
            } else {
                BETWEEN.chars().count()
            };
            let Some(left) = room.checked_sub(part.chars().count() + between) else {
                continue;
            };
            room = left;
            kept.push((place, part));
        }
        kept.sort_by_key(|(place, _)| *place);
        let kept: Vec<String> = kept.into_iter().map(|(_, part)| part).collect();
        kept.join(BETWEEN)
    }
}

fn context(fill: &ContextFill) -> Option<String> {
    let percent = fill.percent?;
    let turns = fill.turns_left.map(|turns| match turns {
        0 => ", full".to_owned(),
        1 => ", 1 turn left".to_owned(),
        turns => format!(", {turns} turns left"),
    });
    Some(format!("context {percent} %{}", turns.unwrap_or_default()))
}

/// One after the other, as a sentence has them.
fn listed(parts: &[String]) -> Option<String> {
    let (last, before) = parts.split_last()?;
    Some(match before {
        [] => last.clone(),
        before => format!("{} and {last}", before.join(", ")),
    })
}

fn count(n: u64, one: &str, many: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn busy() -> StatusLine {
        StatusLine {
            codex: AgentState::Busy,
            to_codex: 2,
            to_claude: 1,
            context: Some(ContextFill {
                percent: Some(38),
                turns_left: Some(6),
                ..ContextFill::default()
            }),
            proposals: 1,
            requests: 2,
            held: 0,
        }
    }

    #[test]
    fn it_says_what_the_peer_does_what_is_under_way_how_full_it_is_and_what_waits() {
        assert_eq!(
            busy().text(200),
            "Codex busy · 1 message for Claude · 2 messages for Codex · context 38 %, 6 turns left \
             · 1 proposal and 2 requests wait for you"
        );
        assert_eq!(StatusLine::default().text(80), "Codex offline");
        let held = StatusLine { held: 1, ..busy() };
        let waits = "1 proposal, 2 requests and 1 held message wait for you";
        assert_eq!(held.text(waits.len()), waits);
        let held = StatusLine {
            held: 1,
            ..StatusLine::default()
        };
        assert_eq!(
            held.text(80),
            "Codex offline · 1 held message waits for you"
        );
    }

    #[test]
    fn where_there_is_no_room_what_waits_for_the_person_stays() {
        assert_eq!(
            busy().text(80),
            "Codex busy · context 38 %, 6 turns left · 1 proposal and 2 requests wait for you"
        );
        assert_eq!(busy().text(45), "1 proposal and 2 requests wait for you");
        assert_eq!(busy().text(20), "Codex busy");
        assert_eq!(busy().text(3), "");
    }

    proptest! {
        #[test]
        fn it_is_never_wider_than_its_room(
            counts in any::<[u8; 5]>(), percent in any::<Option<u8>>(), columns in 0..200_usize,
        ) {
            let [to_codex, to_claude, proposals, requests, held] = counts.map(u64::from);
            let fill = ContextFill { percent: percent.map(u64::from), ..ContextFill::default() };
            let line = StatusLine {
                to_codex,
                to_claude,
                proposals,
                requests,
                held,
                context: Some(fill),
                ..StatusLine::default()
            };
            prop_assert!(line.text(columns).chars().count() <= columns);
        }
    }
}
