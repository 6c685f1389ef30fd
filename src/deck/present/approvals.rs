//! The cards of the requests that the agents make before they go on.

use ctxrelay_ui::model as ui;

use crate::core::agent::Agent;
use crate::deck::followed::model::Model;

/// A card for each, and one for those that are not in the record: what a helper thread of Codex's
/// asks is answered in its terminal.
pub(super) fn cards(model: &Model) -> Vec<ui::InboxCard> {
    let mut cards: Vec<ui::InboxCard> = model.approvals.cards().cloned().collect();
    let open = &model.world.open_approvals;
    if model.status.approvals.elsewhere > 0 {
        cards.push(ui::InboxCard::new(
            ui::InboxKind::Approval,
            "codex-approvals",
            ui::Agent::Codex,
            model.world.agent(Agent::Codex).since_ms,
            "Codex, or a helper of it, waits for your answer in its own pane.",
        ));
    }
    if model.status.agents.claude.waits_elsewhere(open) {
        cards.push(ui::InboxCard::new(
            ui::InboxKind::Approval,
            "claude-waits",
            ui::Agent::Claude,
            model.world.agent(Agent::Claude).since_ms,
            "Claude waits for you in its own pane.",
        ));
    }
    cards
}
