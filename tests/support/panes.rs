//! The panes that a deck of 120 columns shows on its left: the agents' cards and the Inbox.

use super::pty::{Key, Pty};
use super::wait::{timeout, wait_until};

/// Columns of the panes at the left.
const LEFT: usize = 42;

/// How a line begins that has the cursor.
const CURSOR: &str = "│\u{25b8}";

/// Opens the row that has all of these words; what it opens has this text.
#[track_caller]
pub fn open_row(deck: &mut Pty, words: &[&str], shows: &str) {
    to_row(deck, words);
    deck.press(Key::Enter);
    deck.wait_for_text(shows);
}

/// Puts the cursor on the row that has all of these words. The Inbox is entered when the row is
/// there: a cursor that is in it already stays on its row when another one comes above.
#[track_caller]
pub fn to_row(deck: &mut Pty, words: &[&str]) {
    let has_row = |screen: &str| lefts(screen).iter().any(|line| has(line, words));
    deck.wait_for_screen(&format!("a row with {words:?}"), has_row);
    deck.press(Key::Char('3'));
    deck.wait_for_screen("the cursor in the inbox", is_in_inbox);
    wait_until(
        &format!("the cursor on the row with {words:?}"),
        timeout(),
        || {
            let lines = steps(&deck.screen(), words)?;
            if lines == 0 {
                return Some(());
            }
            deck.press(Key::Char(if lines > 0 { 'j' } else { 'k' }));
            // No second key before the first has had its effect.
            deck.wait_for_screen("the next row", |screen| steps(screen, words) != Some(lines));
            None
        },
    );
}

/// Waits until something waits for the operator, by the title of the Inbox. An empty one has almost
/// the same words.
#[track_caller]
pub fn wait_for_waiting(deck: &mut Pty) {
    deck.wait_for_screen("an inbox in which something waits", |screen| {
        let is_title = |line: &str| line.starts_with("╭ 3 Inbox") && line.contains("for you");
        lefts(screen).iter().any(|line| is_title(line))
    });
}

/// Waits until an agent's card is there: before that none is selected.
#[track_caller]
pub fn wait_for_card(deck: &mut Pty, agent: &str) {
    deck.wait_for_screen(&format!("{agent}'s card"), |screen| {
        card(screen, agent).is_some()
    });
}

/// Waits until the deck knows that an agent is attached.
#[track_caller]
pub fn wait_until_attached(deck: &mut Pty, agent: &str) {
    deck.wait_for_screen(&format!("an attached {agent}"), |screen| {
        card(screen, agent).is_some_and(|line| !line.contains("offline"))
    });
}

/// Waits until the deck knows that an agent is in this state.
#[track_caller]
pub fn wait_for_state(deck: &mut Pty, agent: &str, state: &str) {
    deck.wait_for_screen(&format!("{agent} to be {state}"), |screen| {
        card(screen, agent).is_some_and(|line| line.contains(state))
    });
}

/// The first line of an agent's card.
fn card(screen: &str, agent: &str) -> Option<String> {
    let is_its = |line: &str| {
        let line = line.trim_start_matches(['│', '\u{25b8}', ' ']);
        let name = line.trim_start_matches(['◆', '◇']);
        name != line && name.trim_start().starts_with(agent)
    };
    lefts(screen).into_iter().find(|line| is_its(line))
}

fn lefts(screen: &str) -> Vec<String> {
    let left = |line: &str| line.chars().take(LEFT).collect();
    screen.lines().map(left).collect()
}

fn has(line: &str, words: &[&str]) -> bool {
    words.iter().all(|word| line.contains(word))
}

fn is_in_inbox(screen: &str) -> bool {
    let lines = lefts(screen);
    let Some(cursor) = lines.iter().position(|line| line.starts_with(CURSOR)) else {
        return false;
    };
    let above = lines[..cursor].iter().rev();
    let mut titles = above.filter(|line| line.starts_with('╭'));
    titles.next().is_some_and(|title| title.starts_with("╭ 3 "))
}

/// How far below the cursor the nearest row with these words is, in lines.
fn steps(screen: &str, words: &[&str]) -> Option<isize> {
    let lines = lefts(screen);
    let cursor = lines.iter().position(|line| line.starts_with(CURSOR))?;
    let rows = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| has(line, words));
    let down = rows.map(|(y, _)| y as isize - cursor as isize);
    down.min_by_key(|down| down.abs())
}
