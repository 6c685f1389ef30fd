//! Who alone writes to git: asked, shown with its effect, and set.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{Agent, Party};
use crate::overlays::{Choice, ChoiceOption, Overlay, Pick};
use crate::sanitize;

/// Lines of rules that are shown; `ctxrelay permissions status` has them all.
const RULES_MAX: usize = 6;

/// Asks who it is to be. The answer under the cursor is the one that counts now.
pub(super) fn ask_coordinator(deck: &mut Deck) {
    let policy = &deck.view.policy;
    let mut lines: Vec<String> = policy.rules.iter().take(RULES_MAX).cloned().collect();
    let more = policy.rules.len().saturating_sub(RULES_MAX);
    if more > 0 {
        lines.push(format!("and {more} more: ctxrelay permissions status"));
    }
    if lines.is_empty() {
        lines.push("No rule is in force: each agent does what its own settings allow.".to_owned());
    }
    let lines = lines.iter().map(|line| sanitize::line(line)).collect();
    let to = |party: Option<Party>| Pick::Effect(Effect::SetCoordinator { to: party });
    let answers = [
        (
            Some(Party::Agent(Agent::Claude)),
            "Claude",
            "Codex hands its writes over",
        ),
        (
            Some(Party::Agent(Agent::Codex)),
            "Codex",
            "Claude hands its writes over",
        ),
        (Some(Party::Human), "you", "no agent writes to git"),
        (
            None,
            "nobody",
            "each agent writes as its own settings allow",
        ),
    ];
    let now = answers
        .iter()
        .position(|(party, _, _)| *party == policy.coordinator);
    let options = answers.map(|(party, label, desc)| ChoiceOption::new(label, desc, to(party)));
    let mut options = Vec::from(options);
    options.push(ChoiceOption::new(
        "leave it",
        "everything stays as it is",
        Pick::Nothing,
    ));
    let mut choice = Choice::new("Who alone writes to git?", lines, options);
    choice.list.selected = now.unwrap_or(0);
    deck.overlays.push(Overlay::Choice(choice));
}
