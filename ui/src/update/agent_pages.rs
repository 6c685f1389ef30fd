//! The pages of an opened agent: a key turns them, and each is read when it is looked at.

use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{Agent, RulesView, WorkView};
use crate::overlays::{AgentPage, AgentSheet, AskedWork, Overlay};

/// The page that an action leads to from another one.
fn page_of(action: Action, before: AgentPage) -> AgentPage {
    match (action, before) {
        (Action::Instructions, _) => AgentPage::Rules,
        (_, AgentPage::State) => AgentPage::Packet,
        (_, AgentPage::Packet) => AgentPage::Index,
        (_, AgentPage::Index) => AgentPage::Log,
        (_, AgentPage::Card | AgentPage::Log | AgentPage::Rules) => AgentPage::State,
    }
}

/// Opens a page of an agent over what is in front.
pub(super) fn open_page(deck: &mut Deck, agent: Agent, action: Action) {
    let page = page_of(action, AgentPage::Card);
    let sheet = AgentSheet::at(agent, page);
    deck.overlays.push(Overlay::Agent(sheet));
}

/// Another page of the agent in front. Its card stays below: one comes back to it.
pub(super) fn turn_page(deck: &mut Deck, action: Action) {
    let Some(Overlay::Agent(sheet)) = deck.overlays.last_mut() else {
        return;
    };
    if sheet.page == AgentPage::Card {
        let agent = sheet.agent;
        return open_page(deck, agent, action);
    }
    sheet.page = page_of(action, sheet.page);
    sheet.scroll = 0;
    if sheet.page == AgentPage::Rules {
        // Files change and no entry tells of it.
        sheet.pages.rules = None;
        sheet.pages.asked_rules = false;
    }
}

/// What the page in front lacks: the record has grown since, or nothing was read yet. What was
/// asked of a daemon that is gone is asked again of the next.
pub(super) fn unread_page(deck: &mut Deck) -> Option<Effect> {
    let can_act = deck.view.daemon.state.can_act();
    let Some(Overlay::Agent(sheet)) = deck.overlays.last_mut() else {
        return None;
    };
    let wanted = AskedWork {
        session: deck.view.session_id.clone(),
        entries: deck.view.ledger.entries,
        with_log: sheet.page == AgentPage::Log,
    };
    let with_log = wanted.with_log;
    let (agent, pages) = (sheet.agent, &mut sheet.pages);
    if !can_act {
        pages.forget_questions();
        return None;
    }
    match sheet.page {
        AgentPage::Card => None,
        AgentPage::State | AgentPage::Packet | AgentPage::Index | AgentPage::Log => pages
            .asks_work(wanted)
            .then_some(Effect::ReadWork { agent, with_log }),
        AgentPage::Rules if !pages.asked_rules => {
            pages.asked_rules = true;
            Some(Effect::ReadRules { agent })
        }
        AgentPage::Rules => None,
    }
}

/// What an agent is at was read.
pub(super) fn take_work(deck: &mut Deck, work: WorkView) {
    if let Some(sheet) = opened(deck, work.agent) {
        sheet.pages.take_work(work);
    }
}

/// What an agent is told was read.
pub(super) fn take_rules(deck: &mut Deck, rules: RulesView) {
    if let Some(sheet) = opened(deck, rules.agent) {
        sheet.pages.rules = Some(rules);
    }
}

/// The pages of this agent, the uppermost. Not its card.
fn opened(deck: &mut Deck, agent: Agent) -> Option<&mut AgentSheet> {
    deck.overlays
        .iter_mut()
        .rev()
        .find_map(|overlay| match overlay {
            Overlay::Agent(sheet) if sheet.agent == agent && sheet.page != AgentPage::Card => {
                Some(sheet)
            }
            _ => None,
        })
}
