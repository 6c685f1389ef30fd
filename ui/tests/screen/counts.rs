//! A count that is shown is the whole number, however narrow the screen.

use ctxrelay_ui::model::{
    DeckView, HandoffRow, HandoffRows, InboxCard, QueueCounts, TaskColumn, Tasks,
};
use ctxrelay_ui::scenes::{keys, pair_at_work, terminal};

use crate::kit::deck_at;

/// In the order of the columns.
const COUNTS: [(usize, &str); 5] = [
    (1_234, "1 234"),
    (2_345, "2 345"),
    (3_456, "3 456"),
    (4_567, "4 567"),
    (5_678_912, "5 678 912"),
];

fn view() -> DeckView {
    let mut view = pair_at_work();
    let one = HandoffRow::clone(view.handoffs.get(0).expect("a handoff"));
    let rows = |count: usize| -> HandoffRows {
        let seqs = 1..=count as u64;
        seqs.map(|seq| HandoffRow { seq, ..one.clone() }).collect()
    };
    let mut columns = COUNTS.map(|(count, _)| rows(count.min(5_000)));
    columns[TaskColumn::Done.index()] = rows(50);
    view.tasks = Tasks {
        columns,
        done: 5_678_912,
    };
    let card = view.inbox[0].clone();
    view.inbox = (0..1_234)
        .map(|n| InboxCard {
            id: format!("p-{n}"),
            ..card.clone()
        })
        .collect();
    view
}

/// What stands behind this, where it is a number.
fn number<'s>(line: &'s str, before: &str) -> Option<&'s str> {
    let (_, rest) = line.split_once(before)?;
    rest.starts_with(|c: char| c.is_ascii_digit())
        .then_some(rest)
}

#[test]
fn column_counts_are_never_cut() {
    let glyphs = ctxrelay_ui::Glyphs::Unicode;
    let (mut counted, mut waited) = (0, 0);
    for columns in 1..200 {
        let mut deck = deck_at(view(), (columns, 40));
        keys(&mut deck, "4");
        let screen = terminal(&deck, deck.size()).backend().to_string();
        let mut screens = vec![screen.clone()];
        for keyed in ["z", "zG"] {
            keys(&mut deck, keyed);
            screens.push(terminal(&deck, deck.size()).backend().to_string());
        }
        let columns_with_counts = TaskColumn::ALL.into_iter().zip(COUNTS);
        for ((column, (_, count)), screen) in
            columns_with_counts.flat_map(|one| screens.iter().map(move |screen| (one, screen)))
        {
            let word = format!("{} {} ", glyphs.column(column), column.as_str());
            for line in screen.lines() {
                let Some(found) = number(line, &word) else {
                    continue;
                };
                let behind = found.strip_prefix(count);
                let is_whole = behind.is_some_and(|rest| rest.starts_with(' '));
                assert!(is_whole, "{columns} columns: {line}");
                counted += 1;
            }
        }
        for line in screen.lines() {
            if let Some(waiting) = number(line, "3 Inbox  ") {
                let is_whole = waiting.starts_with("1 234 ");
                assert!(is_whole, "{columns} columns: {line}");
                waited += 1;
            }
        }
    }
    assert!(counted > 400, "only {counted} counts were looked at");
    assert!(waited > 50, "only {waited} titles were looked at");
}

#[test]
fn every_count_of_an_agent_stands_whole_on_its_card() {
    let mut view = pair_at_work();
    let card = &mut view.agents[0];
    card.unread = 1_234;
    card.queue = QueueCounts {
        pending: 23_456,
        in_flight: 34_567,
        ambiguous: 45_678,
    };
    card.cut_off = 567;
    for columns in 60..200 {
        let mut deck = deck_at(view.clone(), (columns, 40));
        keys(&mut deck, "1");
        let screen = terminal(&deck, deck.size()).backend().to_string();
        for count in [
            "1 234 unread",
            "23 456 queued",
            "34 567 unconfirmed",
            "45 678 ambiguous",
            "567 cut off",
        ] {
            assert!(
                screen.contains(count),
                "{count}, {columns} columns: {screen}"
            );
        }
    }
}

#[test]
fn the_figures_of_a_context_are_whole_beside_a_bar_that_gives_way() {
    let mut view = pair_at_work();
    let context = view.agents[1].context.as_mut().expect("a context");
    (context.used, context.window) = (999_999, 1_000_000);
    for columns in [60, 80, 100, 120] {
        let mut deck = deck_at(view.clone(), (columns, 30));
        keys(&mut deck, "1");
        let screen = terminal(&deck, deck.size()).backend().to_string();
        let shown = screen.lines().find(|line| line.contains("context 99%"));
        let shown = shown.expect("the meter");
        assert!(shown.contains(" 999k of 1.0M "), "{columns}: {shown}");
    }
}
