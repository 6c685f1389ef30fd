//! Lists that are longer than their room say so, and no room stands empty while words are cut.

use ctxrelay_ui::Settings;
use ctxrelay_ui::scenes::{keys, scene, terminal};

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);

/// The lines of a scene at a size, after these keys.
fn shown(name: &str, size: (u16, u16), typed: &str) -> Vec<String> {
    let scene = scene(name).expect("a scene");
    let mut deck = scene.deck_with(Settings::new().expect("keymap"), size);
    keys(&mut deck, typed);
    let screen = terminal(&deck, size).backend().to_string();
    screen
        .lines()
        .map(|line| line.trim_matches('"').to_owned())
        .collect()
}

#[track_caller]
fn shows(lines: &[String], words: &str) {
    let screen = lines.join("\n");
    assert!(screen.contains(words), "{words} is not in\n{screen}");
}

/// Rows of the screen that have the mark of what is seen of a list.
fn thumb(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains('┃')).count()
}

#[test]
fn what_is_stuck_stands_before_what_only_waits_and_is_counted() {
    let tasks = shown("tasks", SMALL, "").join("\n");
    let at = |words: &str| tasks.find(words).expect("a column");
    assert!(at("● active") < at("‖ blocked 2"), "{tasks}");
    assert!(at("‖ blocked 2") < at("○ open 13"), "{tasks}");
    shows(&shown("handoffs", WIDE, ""), "5 Handoffs  59 open  ▲ 3");
    shows(&shown("handoffs", SMALL, ""), "5 Handoffs 59 ▲ 3");
}

#[test]
fn a_list_that_goes_on_below_says_so_without_a_frame_and_in_a_box() {
    for name in ["handoffs", "tasks", "pair_at_work", "palette"] {
        assert!(thumb(&shown(name, SMALL, "")) > 0, "{name}");
    }
    for name in ["themes", "coordinator"] {
        assert!(thumb(&shown(name, (60, 15), "")) > 0, "{name}");
    }
    let all = shown("themes", WIDE, "");
    let is_in_box = |line: &&String| line.contains("default-") || line.contains("rose-pine");
    let marked = all
        .iter()
        .filter(is_in_box)
        .filter(|line| line.contains('┃'));
    assert_eq!(
        marked.count(),
        0,
        "all of them are there\n{}",
        all.join("\n")
    );
}

#[test]
fn what_waits_is_read_to_its_end_where_there_is_room_and_nothing_jumps() {
    for size in [SMALL, WIDE, (200, 50)] {
        let before = shown("pair_at_work", size, "3");
        let screen = before.join("\n");
        assert!(screen.contains("release?"), "{screen}");
        // The cursor moves, and what is read of the row under it, but no row.
        let rows = |lines: &[String]| -> Vec<usize> {
            let of_inbox = |line: &&str| line.contains("finality ◇") || line.contains("question ◆");
            let lines = lines.iter().map(String::as_str).enumerate();
            lines
                .filter(|(_, line)| of_inbox(line))
                .map(|(at, _)| at)
                .collect()
        };
        assert_eq!(rows(&before), rows(&shown("pair_at_work", size, "3j")));
    }
    for size in [SMALL, WIDE] {
        let zoomed = shown("inbox_zoomed", size, "");
        shows(&zoomed, "says where");
        shows(&zoomed, " is shown");
    }
    shows(&shown("timeline_zoomed", WIDE, ""), "Shall I fix both?");
    shows(
        &shown("timeline_zoomed", WIDE, ""),
        "rotation_forgets_the_old_token",
    );
}

#[test]
fn tasks_on_the_board_are_read_to_their_end_where_all_of_a_column_have_room() {
    let board = shown("task_board", WIDE, "");
    let column: Vec<String> = board
        .iter()
        .map(|line| line.chars().skip(48).take(22).collect())
        .collect();
    let words = column.join(" ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cause"), "{words}");
    assert!(!words.contains('…'), "{words}");
    // The column says of how many it shows the latest, as the list does.
    shows(&board, "the latest 2");
}

#[test]
fn what_waits_for_nobody_stands_below_a_heading_and_has_no_alarm() {
    for (name, waits) in [("trouble", 4), ("held_up", 3)] {
        let lines = shown(name, (120, 50), "3");
        shows(&lines, &format!("3 Inbox  {waits} wait for you"));
        let headings = lines.iter().filter(|line| line.contains("for you to know"));
        assert_eq!(headings.count(), 1, "{}", lines.join("\n"));
        for line in &lines {
            let row: String = line.chars().take(42).collect();
            let is_state = row.contains(" setup ") || row.contains(" full ");
            assert!(!(is_state && row.contains('▲')), "{row}");
        }
    }
}

#[test]
fn z_gives_the_inbox_the_whole_tab_and_takes_it_back() {
    let agents = |lines: &[String]| lines.iter().any(|line| line.contains("◆ Claude  ·"));
    let shared = shown("trouble", SMALL, "3");
    assert!(agents(&shared));
    let zoomed = shown("trouble", SMALL, "3z");
    assert!(!agents(&zoomed), "{}", zoomed.join("\n"));
    assert_eq!(shown("trouble", SMALL, "3zz"), shared);
    // A pane that has the tab to itself says why nothing comes of the key.
    let alone = shown("trouble", SMALL, "2z");
    shows(&alone, "this screen has room for no more");
}

#[test]
fn what_is_said_in_a_thread_has_room_beside_no_outcome() {
    let thread = shown("thread", SMALL, "");
    shows(&thread, "Add the tests for rotation and for two");
    shows(&thread, "✓ joined its running turn");
    // The last entry is seen to its end, as low as the screen is.
    for typed in ["", "G", "Gk", "Gkk"] {
        let lines = shown("thread", (60, 15), typed);
        let at = lines.iter().position(|line| line.contains('▸'));
        assert!(at.is_some(), "{typed}: {}", lines.join("\n"));
    }
}
