//! [`on_signed`]: performs a wish with its signature, by what the deck was given or as a call.

use std::sync::Arc;

use ctxrelay_ui::model::Level;
use ctxrelay_ui::{Effect, Msg};
use tokio::task::spawn_blocking;

use crate::client::Client;
use crate::core::id::SessionId;
use crate::deck::calls::agent_work::rules;
use crate::deck::calls::perform::perform;
use crate::deck::clock::now_ms;
use crate::deck::deck_options::{DeckOptions, RulesOfFiles};
use crate::deck::followed::model::Model;
use crate::deck::key_slot::KeyFault;
use crate::deck::party::core_agent_of;
use crate::deck::signing::{DeckSignature, ToSign};
use crate::wire::control::{Command, ReportKeyParams};

/// Performs what is signed as far as it has to be.
pub(in crate::deck) async fn on_signed(
    to_sign: ToSign,
    options: &DeckOptions,
    model: &mut Model,
) -> Option<Msg> {
    match to_sign {
        ToSign::Ready(effect, signature) => on_effect(effect, signature, options, model).await,
        ToSign::Ask(question) => Some(question),
        ToSign::Refused(why) => Some(Msg::Notice(Level::Error, why)),
    }
}

async fn on_effect(
    effect: Effect,
    signature: Option<DeckSignature>,
    options: &DeckOptions,
    model: &mut Model,
) -> Option<Msg> {
    if let Effect::StartAgent(agent) = effect {
        let agent = core_agent_of(agent);
        let start = Arc::clone(&options.start_agent);
        let started = spawn_blocking(move || start(agent)).await;
        return Some(match started {
            Ok(Ok(text)) => {
                model.started.insert(agent, now_ms());
                Msg::Notice(Level::Info, text)
            }
            Ok(Err(text)) => Msg::Notice(Level::Warn, text),
            Err(_) => Msg::Notice(Level::Error, "it could not be started".to_owned()),
        });
    }
    if let Effect::ReadRules { agent } = effect {
        let read = Arc::clone(&options.read_rules);
        let of = core_agent_of(agent);
        let now = model.status.agents.of(of);
        let said = now.continuity.instructions_read.clone();
        let read = spawn_blocking(move || read(of, said)).await;
        let read = read.unwrap_or_else(|_| RulesOfFiles {
            doubts: vec!["The files cannot be read.".to_owned()],
            ..RulesOfFiles::default()
        });
        return Some(Msg::Rules(Box::new(rules(agent, read))));
    }
    // An entry of the record is named by the short name of its session.
    if let Effect::OpenEntry { place } = &effect
        && SessionId::is_well_formed(&place.session)
    {
        return options.elsewhere.open(model, place.clone()).await;
    }
    perform(effect, signature, &options.operator, model).await
}

/// That another key is in the place of the one that signs is an alarm.
pub(super) async fn report(fault: &KeyFault, operator: &Client) {
    if let KeyFault::Replaced(found) = fault {
        let found = found.clone();
        let told = operator.call(Command::ReportKey(ReportKeyParams { found }));
        if let Err(error) = told.await {
            tracing::warn!(%error, "that the key was replaced could not be recorded");
        }
    }
}
