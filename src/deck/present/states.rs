//! Rows of the inbox for states that are wrong: one each, for as long as the state lasts, with what
//! can be done about it.

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::clock_seconds;

use super::missing::{PairNeed, PairStep, of_pair};
use super::notice_about::{NoticeAbout, about};
use crate::deck::followed::model::{DaemonLink, Model};
use crate::wire::status::{ChainState, NoticeKey, Status};

/// How bad it is that the daemon is away or cannot be read, and a sentence; `None`: neither is so.
pub(super) fn link_fault(model: &Model) -> Option<(ui::Level, String)> {
    match (model.link(), model.lost_ms()) {
        (DaemonLink::Ended(why), _) => {
            let text = format!(
                "{why}. What was acknowledged is on disk; it can be started again from here."
            );
            return Some((ui::Level::Error, text));
        }
        (
            link @ (DaemonLink::Reconnecting(why)
            | DaemonLink::Silent(why)
            | DaemonLink::FolderGone(why)),
            Some(lost_ms),
        ) => {
            // The time and no age: nothing is drawn again while it does not answer.
            let at = clock_seconds(lost_ms, model.about.local.offset_s(lost_ms));
            let as_it_was = format!("what you see is as it was at {at}");
            let why = match link {
                // The header has the words of the transport.
                DaemonLink::Silent(_) => "the daemon does not answer",
                _ => why.as_str(),
            };
            let text = match link {
                DaemonLink::FolderGone(_) => format!("{why}; {as_it_was}."),
                _ => format!("{why}; {as_it_was}. Nothing is lost: every entry is on disk."),
            };
            return Some((ui::Level::Error, text));
        }
        _ => {}
    }
    let why = model.unread.as_ref().filter(|_| model.is_read)?;
    let text = format!("What stands here may be old: {why}. It is tried again.");
    Some((ui::Level::Warn, text))
}

/// A row for each.
pub(super) fn cards(model: &Model) -> Vec<ui::InboxCard> {
    let status = &model.status;
    let mut cards = Vec::new();
    if let Some((_, text)) = link_fault(model) {
        let steps = match model.link() {
            DaemonLink::Ended(_) => {
                "R on the panes starts it again, unless you gave it another key."
            }
            DaemonLink::FolderGone(_) => {
                "See where the folder is: `ctxrelay` there goes on with its record. If it was deleted, \
                 put it back from a backup, or start anew."
            }
            _ => "If it stays so, look how the daemon is.",
        };
        let command = "ctxrelay status".to_owned();
        cards.push(card(
            ui::InboxKind::Trouble,
            "link",
            text,
            &[steps],
            command,
        ));
    }
    let has_alarms = model.world.open_alarms().next().is_some();
    for (at, text) in status.notices.iter().enumerate() {
        // A daemon of an earlier build names none.
        let key = status.notice_keys.get(at);
        let key = key.filter(|key| **key != NoticeKey::default());
        let has_card = match key {
            // Each of them has one of its own.
            Some(NoticeKey::Alarm) => has_alarms,
            Some(NoticeKey::ConfigTrust) => model.trust.is_some(),
            // The chain itself says it, also of a daemon that says no more.
            Some(NoticeKey::Chain) => true,
            _ => false,
        };
        if has_card {
            continue;
        }
        let NoticeAbout {
            kind,
            steps,
            command,
        } = about(key);
        let id = key.map_or_else(|| text.clone(), NoticeKey::to_string);
        cards.push(card(kind, &id, text.clone(), steps, command.to_owned()));
    }
    let is_told = has_alarms || status.notice_keys.contains(&NoticeKey::Touched);
    cards.extend(record_cards(status, is_told));
    if !model.about.demo && model.is_read {
        cards.extend(pair_cards(status));
    }
    cards
}

/// What the chain and the lines of the record say.
fn record_cards(status: &Status, is_told: bool) -> Vec<ui::InboxCard> {
    let verify = || "ctxrelay ledger verify".to_owned();
    let mut cards = Vec::new();
    if status.ledger.chain == ChainState::Broken && !is_told {
        let text = "The record is not as it was written: its chain is broken";
        let NoticeAbout { kind, steps, .. } = about(Some(&NoticeKey::Touched));
        cards.push(card(kind, "chain", text.to_owned(), steps, verify()));
    }
    let (lines, verb) = match status.ledger.bad_lines {
        0 => return cards,
        1 => ("1 line".to_owned(), "is"),
        n => (format!("{} lines", ctxrelay_ui::text::grouped(n)), "are"),
    };
    let text =
        format!("{lines} of the record cannot be read, and {verb} left out of what is shown");
    let steps = ["Each has a row of the timeline where it stands; nothing has to be done."];
    let kind = ui::InboxKind::Notice;
    cards.push(card(kind, "bad-lines", text, &steps, verify()));
    cards
}

/// What is not installed or not set up. What only has to be started is seen in the agents' pane.
fn pair_cards(status: &Status) -> Vec<ui::InboxCard> {
    let sign_in = status.agents.codex.needs_sign_in.then(|| {
        let command = "codex login";
        let text = format!("Codex waits for you to sign in: {command}");
        let advice = [
            "Sign in in its terminal, which `ctxrelay codex` opens, or with the command.",
            "What is for Codex waits until then, and goes on by itself.",
        ];
        let setup = ui::InboxKind::Setup;
        card(setup, "codex-sign-in", text, &advice, command.to_owned())
    });
    let steps = of_pair(status).into_iter();
    let steps = steps
        .filter(|of| !of.step.done)
        .filter_map(|PairStep { need, step }| {
            let advice: &[&str] = match need {
                PairNeed::Start => return None,
                PairNeed::Install => &[
                    "Install it: daemon and deck see it by themselves.",
                    "Where it is installed and not on the PATH, CONTEXTRELAY_CLAUDE_BIN and \
                     CONTEXTRELAY_CODEX_BIN say where.",
                    "Without it everything else works: record, deck and the other agent.",
                ],
                PairNeed::Wake => &["Quit it, and start it as part of the pair."],
            };
            let text = match step.command.as_str() {
                "" => step.text,
                command => format!("{}: {command}", step.text),
            };
            let id = text.clone();
            let setup = ui::InboxKind::Setup;
            Some(card(setup, &id, text, advice, step.command))
        });
    sign_in.into_iter().chain(steps).collect()
}

fn card(
    kind: ui::InboxKind,
    id: &str,
    text: String,
    steps: &[&str],
    command: String,
) -> ui::InboxCard {
    ui::InboxCard {
        steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        command: Some(command).filter(|command| !command.is_empty()),
        ..ui::InboxCard::new(kind, format!("state-{id}"), ui::Party::System, 0, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deck::deck_about::DeckAbout;
    use crate::deck::present::present;
    use crate::wire::status::CHAIN_BROKEN;

    fn read(link: DaemonLink) -> Model {
        let mut model = Model::new(link, DeckAbout::default());
        model.is_read = true;
        model.status.agents.claude.installed = true;
        model.status.agents.codex.installed = true;
        model
    }

    /// Kind and text of each row.
    fn rows(model: &Model) -> Vec<(&'static str, bool, String)> {
        let cards = present(model, 0).inbox.into_iter();
        let row = |card: ui::InboxCard| (card.kind.as_str(), card.kind.waits(), card.summary);
        cards.map(row).collect()
    }

    #[test]
    fn every_banner_has_its_row_as_long_as_it_stands() {
        let mut ended = read(DaemonLink::Ended("the daemon has failed".to_owned()));
        ended.about.demo = true;
        let mut lost = read(DaemonLink::Attached);
        lost.set_link(DaemonLink::Reconnecting("refused".to_owned()), 0);
        let mut gone = read(DaemonLink::Attached);
        gone.set_link(DaemonLink::FolderGone("the folder is gone".to_owned()), 0);
        let mut old = read(DaemonLink::Attached);
        old.unread = Some("the record cannot be read".to_owned());
        // Of a broken chain the chain itself has a row, in its own words.
        let named = NoticeKey::ALL
            .iter()
            .filter(|key| **key != NoticeKey::Chain);
        let others: [NoticeKey; 2] = ["one of a later build".into(), "".into()];
        let told = named.cloned().chain(others).map(|key| {
            let mut model = read(DaemonLink::Hosting);
            model.status.notices = vec![format!("about {key}")];
            model.status.notice_keys = vec![key];
            model
        });
        let told: Vec<Model> = told.collect();
        for model in [ended, lost, gone, old].iter().chain(&told) {
            let view = present(model, 0);
            let banner = view.banner.unwrap_or_else(|| panic!("no banner"));
            let row = view.inbox.iter().find(|card| card.summary == banner.text);
            assert!(row.is_some(), "{banner:?} in {:?}", view.inbox);
        }
        assert!(present(&read(DaemonLink::Hosting), 0).inbox.is_empty());
    }

    #[test]
    fn a_daemon_that_was_ended_is_not_said_to_be_silent() {
        let mut lost = read(DaemonLink::Attached);
        for why in ["the daemon was killed", "no daemon runs for this project"] {
            lost.set_link(DaemonLink::Reconnecting(why.to_owned()), 0);
            let view = present(&lost, 0);
            let banner = view.banner.unwrap().text;
            assert!(
                banner.starts_with(&format!("{why}; what you see")),
                "{banner}"
            );
            assert_eq!(view.daemon.message.as_deref(), Some(why));
        }
        let why = "nothing answers: Connection refused (os error 111)";
        lost.set_link(DaemonLink::Silent(why.to_owned()), 0);
        let view = present(&lost, 0);
        let banner = view.banner.unwrap().text;
        let wanted = "the daemon does not answer; what you see";
        assert!(banner.starts_with(wanted), "{banner}");
        assert_eq!(view.daemon.message.as_deref(), Some(why));
    }

    #[test]
    fn a_row_stays_the_same_one_while_its_figures_change_and_says_what_to_do() {
        let mut model = read(DaemonLink::Hosting);
        model.status.notice_keys = vec![NoticeKey::Disk];
        let mut ids = Vec::new();
        for left in ["210 MB", "190 MB"] {
            model.status.notices = vec![format!("{left} are free")];
            let card = present(&model, 0).inbox.remove(0);
            assert!(card.kind.waits() && !card.steps.is_empty(), "{card:?}");
            ids.push(card.id);
        }
        assert_eq!(ids[0], ids[1]);
    }

    #[test]
    fn a_broken_record_and_a_missing_program_are_rows_with_the_command_that_helps() {
        let mut model = read(DaemonLink::Attached);
        model.status.agents.codex.installed = false;
        model.status.ledger.chain = ChainState::Broken;
        model.status.notices.push(CHAIN_BROKEN.to_owned());
        model.status.notice_keys.push(NoticeKey::Chain);
        model.status.ledger.bad_lines = 2;
        let told = rows(&model);
        let kinds: Vec<_> = told
            .iter()
            .map(|(kind, waits, _)| (*kind, *waits))
            .collect();
        assert_eq!(
            kinds,
            [("alarm", true), ("notice", false), ("setup", false)]
        );
        let commands = present(&model, 0).inbox.into_iter();
        let commands: Vec<String> = commands.filter_map(|card| card.command).collect();
        let verify = "ctxrelay ledger verify";
        assert_eq!(commands, [verify, verify, "npm install -g @openai/codex"]);
        // Who touched it was told: once.
        model.status.notices = vec!["somebody else touched the record".to_owned()];
        model.status.notice_keys = vec![NoticeKey::Touched];
        assert_eq!(rows(&model).len(), 3);
    }

    #[test]
    fn a_codex_that_waits_for_a_sign_in_has_a_row_with_the_command() {
        let mut model = read(DaemonLink::Hosting);
        model.status.agents.codex.needs_sign_in = true;
        let card = present(&model, 0).inbox.remove(0);
        assert_eq!(card.kind, ui::InboxKind::Setup);
        assert!(
            card.summary.contains("waits for you to sign in"),
            "{card:?}"
        );
        assert_eq!(card.command.as_deref(), Some("codex login"));
        model.status.agents.codex.needs_sign_in = false;
        assert!(present(&model, 0).inbox.is_empty());
    }

    #[test]
    fn a_limit_is_a_row_of_its_own_unless_nothing_is_to_be_said_of_it() {
        use crate::core::delivery::LimitMode;
        use crate::wire::status::LimitStatus;
        let mut model = read(DaemonLink::Hosting);
        let limit = LimitStatus {
            since: 5,
            resets_at: Some(60_000),
            ..LimitStatus::default()
        };
        for mode in [LimitMode::Notify, LimitMode::Resume, LimitMode::Off] {
            let limit = LimitStatus {
                mode,
                ..limit.clone()
            };
            model.status.agents.codex.limit = Some(limit);
            let text = "Codex is at its usage limit".to_owned();
            let row = (mode != LimitMode::Off).then_some(("limit", false, text));
            assert_eq!(rows(&model), Vec::from_iter(row));
        }
    }
}
