//! A daemon that is gone, or refuses to be read: nothing is asked for in a circle, and nothing is said
//! that is not so.

use ctxrelay_ui::model::{DeckView, Level, TimelineGo};
use ctxrelay_ui::scenes::{disconnected, far_back, keys, pair_at_work};
use ctxrelay_ui::{Deck, Effect, Msg, Pane, update};

use crate::kit::{NO_DETAIL, fresh, shown};

const REFUSED: &str = "not connected to the daemon: only the rows that are loaded";

fn show(deck: &mut Deck, view: &DeckView) -> Vec<Effect> {
    update(deck, Msg::View(Box::new(view.clone())))
}

fn lost(mut view: DeckView) -> DeckView {
    view.daemon = disconnected().daemon;
    view
}

/// The rows that are asked for.
fn wishes(effects: &[Effect]) -> Vec<TimelineGo> {
    let wish = |effect: &Effect| match effect {
        Effect::ShowTimeline(wish) => Some(wish.go),
        _ => None,
    };
    effects.iter().filter_map(wish).collect()
}

#[test]
fn more_rows_are_asked_for_only_where_a_daemon_is_there() {
    let mut deck = fresh(NO_DETAIL);
    assert_eq!(wishes(&show(&mut deck, &lost(far_back()))), []);
    assert_eq!(wishes(&keys(&mut deck, "2jjj")), []);
    assert_eq!(wishes(&show(&mut deck, &lost(far_back()))), []);
    assert_eq!(wishes(&show(&mut deck, &far_back())).len(), 1);
}

#[test]
fn a_jump_without_a_daemon_is_refused_and_the_way_back_stays() {
    let mut deck = fresh(NO_DETAIL);
    show(&mut deck, &far_back());
    keys(&mut deck, "2jj");
    assert_eq!(wishes(&keys(&mut deck, "1#12<enter>")).len(), 1);
    keys(&mut deck, "1");
    for script in ["2[", "2]", "2#1204<enter>", "2g", "2G", "1<ctrl-o>"] {
        show(&mut deck, &lost(far_back()));
        assert_eq!(wishes(&keys(&mut deck, script)), [], "{script}");
        show(&mut deck, &lost(far_back()));
        let screen = shown(&deck);
        assert!(screen.contains(REFUSED), "{script}: {screen}");
        assert!(!screen.contains("following"), "{script}: {screen}");
    }
    assert_eq!(deck.focus(), Pane::Agents, "where one was");
    show(&mut deck, &far_back());
    let back = wishes(&keys(&mut deck, "<ctrl-o>"));
    assert!(matches!(back[..], [TimelineGo::Line(_)]), "{back:?}");
}

#[test]
fn rows_that_cannot_be_read_are_no_answer_and_are_asked_for_again_after_a_while() {
    for key in ["g", "[", "]", "#7<enter>"] {
        let mut deck = fresh(NO_DETAIL);
        show(&mut deck, &far_back());
        keys(&mut deck, "2jj");
        let effects = keys(&mut deck, key);
        let number = effects.iter().find_map(|effect| match effect {
            Effect::ShowTimeline(wish) => Some(wish.number),
            _ => None,
        });
        let mut refused = far_back();
        refused.window.answered = number.expect("rows are asked for");
        refused.window.has_failed = true;
        let why = "the record cannot be read".to_owned();
        update(&mut deck, Msg::Notice(Level::Error, why));
        assert_eq!(wishes(&show(&mut deck, &refused)), [], "{key}");
        let screen = shown(&deck);
        assert!(screen.contains("the record cannot be read"), "{screen}");
        assert!(!screen.contains("following"), "{key}: {screen}");
        refused.now_ms += 1_999;
        assert_eq!(wishes(&show(&mut deck, &refused)), [], "{key}");
        refused.now_ms += 1;
        assert_eq!(wishes(&show(&mut deck, &refused)).len(), 1, "{key}");
    }
}

#[test]
fn an_entry_is_read_only_where_a_daemon_is_there() {
    let reads = |effects: &[Effect]| {
        let is_read = |effect: &Effect| matches!(effect, Effect::OpenEntry { .. });
        effects.iter().any(is_read)
    };
    let mut view = pair_at_work();
    for row in &mut view.timeline {
        row.text_cut = true;
    }
    let mut deck = fresh((120, 40));
    assert!(!reads(&show(&mut deck, &lost(view.clone()))), "beside");
    assert!(!reads(&keys(&mut deck, "2<enter>")), "opened");
    let screen = shown(&deck);
    assert!(screen.contains("the rest cannot be read now"), "{screen}");
    assert!(!screen.contains("is being read"), "{screen}");
    assert!(reads(&show(&mut deck, &view)));
    assert!(shown(&deck).contains("the rest is being read"));
}

#[test]
fn what_is_written_is_not_said_to_start_an_agent_that_nobody_tells_of() {
    let mut deck = fresh((120, 40));
    show(&mut deck, &pair_at_work());
    keys(&mut deck, "m");
    for _ in 0..2 {
        show(&mut deck, &disconnected());
        let screen = shown(&deck);
        assert!(screen.contains("nothing can be sent now"), "{screen}");
        for wrong in ["this starts it", "waits in the queue", "not there now"] {
            assert!(!screen.contains(wrong), "{wrong}: {screen}");
        }
        // To the other agent.
        keys(&mut deck, "<ctrl-t>");
    }
}

#[test]
fn what_is_typed_behind_a_key_that_writes_is_text_also_where_no_daemon_is_there_yet_or_any_more() {
    for key in ["m", "h", "M", "1<enter>m", "1<enter>h"] {
        for world in [None, Some(lost(pair_at_work()))] {
            if world.is_none() && key.starts_with('1') {
                // No agent can be opened yet.
                continue;
            }
            let mut deck = fresh((120, 40));
            if let Some(view) = &world {
                show(&mut deck, view);
            }
            let effects = keys(&mut deck, &format!("{key}quick question"));
            let leaves = |effect: &Effect| matches!(effect, Effect::Quit(_));
            assert!(!effects.iter().any(leaves), "{key}: {effects:?}");
            let screen = shown(&deck);
            assert!(
                screen.contains("nothing can be sent now"),
                "{key}: {screen}"
            );
            assert_eq!(keys(&mut deck, "<enter>"), [], "{key}");
            let screen = shown(&deck);
            assert!(screen.contains("quick question"), "{key}: {screen}");
            assert!(screen.contains("the draft is kept"), "{key}: {screen}");
            // It is there still once the daemon is.
            show(&mut deck, &pair_at_work());
            assert!(shown(&deck).contains("quick question"), "{key}");
            assert_eq!(keys(&mut deck, "<enter>").len(), 1, "{key}");
        }
    }
}
