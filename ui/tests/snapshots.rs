//! Every scene as text at the sizes that matter, and how each pane and overlay is styled there. More
//! colours are in the pictures (`shots.rs`).

use ctxrelay_ui::scenes::{SCENES, Scene, scene, screen, terminal};
use ctxrelay_ui::{Deck, Settings};
use ratatui::buffer::{Buffer, Cell};

fn deck(scene: &Scene, size: (u16, u16)) -> Deck {
    scene.deck_with(Settings::new().expect("keymap"), size)
}

fn at(scene: &Scene, size: (u16, u16)) {
    let deck = deck(scene, size);
    let name = format!("{}-{}x{}", scene.name, size.0, size.1);
    insta::assert_snapshot!(name, terminal(&deck, size).backend());
}

#[test]
fn every_scene_looks_as_it_did() {
    for scene in SCENES {
        at(scene, scene.size);
    }
}

/// Every pane and overlay, each in a scene or two, which are looked at on one more small screen.
const MAIN: [&str; 28] = [
    "pair_at_work",
    "finality_card",
    "empty_first_run",
    "trouble",
    "held_up",
    "tasks",
    "task_board",
    "handoffs",
    "palette",
    "palette_not_now",
    "notice",
    "receipt",
    "help",
    "composer",
    "found",
    "found_everywhere",
    "far_back",
    "chips",
    "go_to",
    "thread",
    "agent_state",
    "agent_packet",
    "agent_index",
    "agent_log",
    "rules_changed_card",
    "agent_told",
    "recover",
    "recover_claude",
];

/// The sizes at which a terminal is common, from the smallest with panes on.
const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 50)];

#[test]
fn the_scenes_hold_at_every_size() {
    for scene in SCENES {
        for size in SIZES.into_iter().filter(|size| *size != scene.size) {
            at(scene, size);
        }
        if MAIN.contains(&scene.name) {
            at(scene, (60, 20));
        }
    }
}

/// The themes in which every scene is kept.
const THEMES: [&str; 2] = ["mono", "default-dark"];

/// The deck of a scene in a theme.
fn in_theme(scene: &Scene, theme: &str, size: (u16, u16)) -> Buffer {
    let settings = Settings {
        theme: theme.to_owned(),
        ..Settings::new().expect("keymap")
    };
    screen(&scene.deck_with(settings, size), size)
}

/// The name of a style: a letter, with a mark behind it for each round through the alphabet.
fn letter(place: usize) -> String {
    let letter = char::from(b'a' + (place % 26) as u8);
    format!("{letter}{}", "'".repeat(place / 26))
}

/// How a screen is styled in each of the themes: a letter for what the cell has in all of them, and
/// for each row how many cells have which; equal rows in a row stand once.
fn styles(buffers: &[Buffer; 2], legend: &mut Vec<String>) -> String {
    let mut known = |style: String| {
        let place = legend.iter().position(|one| *one == style);
        place.unwrap_or_else(|| {
            legend.push(style);
            legend.len() - 1
        })
    };
    let columns = usize::from(buffers[0].area.width);
    let [first, second] = buffers.each_ref().map(|buffer| buffer.content.as_slice());
    let cells: Vec<_> = first.iter().zip(second).collect();
    let rows = cells.chunks(columns).map(|row| {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (first, second) in row {
            let style = |cell: &Cell| format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
            let place = known(format!("{} | {}", style(first), style(second)));
            match runs.last_mut() {
                Some((last, count)) if *last == place => *count += 1,
                _ => runs.push((place, 1)),
            }
        }
        let runs = runs.into_iter();
        let runs: Vec<String> = runs
            .map(|(place, count)| format!("{}{count}", letter(place)))
            .collect();
        runs.join(" ")
    });
    let rows: Vec<String> = rows.collect();
    let same = rows.chunk_by(|one, other| one == other);
    same.map(|same| format!("{:>3} {}\n", same.len(), same[0]))
        .collect()
}

#[test]
fn every_scene_is_styled_as_it_was_and_a_theme_changes_no_word() {
    let words = |buffer: &Buffer| -> String {
        let cells = buffer.content.iter();
        cells.map(Cell::symbol).collect()
    };
    for scene in SCENES {
        let mut legend = Vec::new();
        let maps = SIZES.map(|size| {
            let buffers = THEMES.map(|theme| in_theme(scene, theme, size));
            // In the list of themes the cursor is on the one in use.
            if scene.name != "themes" {
                let [one, other] = buffers.each_ref().map(words);
                assert_eq!(one, other, "{} at {size:?}", scene.name);
            }
            format!("{}x{}\n{}", size.0, size.1, styles(&buffers, &mut legend))
        });
        let legend = legend.iter().enumerate();
        let legend = legend.map(|(place, style)| format!("{} {style}\n", letter(place)));
        let text = legend.chain(maps).collect::<String>();
        insta::with_settings!({ snapshot_path => "snapshots/styles" }, {
            insta::assert_snapshot!(scene.name, text);
        });
    }
}

#[test]
fn the_agents_alone_hold_on_a_small_screen() {
    for (name, label) in [("pair_at_work", "agents"), ("held_up", "agents_held_up")] {
        let scene = scene(name).expect("a scene");
        let agents = Scene {
            name: label,
            keys: "1",
            ..*scene
        };
        for size in [(60, 15), (80, 24)] {
            at(&agents, size);
        }
    }
}

#[test]
fn the_ascii_twin_has_no_other_character() {
    for scene in SCENES {
        let settings = Settings {
            glyphs: ctxrelay_ui::Glyphs::Ascii,
            ..Settings::new().expect("keymap")
        };
        let deck = scene.deck_with(settings, scene.size);
        for cell in &screen(&deck, scene.size).content {
            assert!(
                cell.symbol().is_ascii(),
                "{}: {:?}",
                scene.name,
                cell.symbol()
            );
        }
    }
    let scene = scene("pair_at_work").expect("a scene");
    let settings = Settings {
        glyphs: ctxrelay_ui::Glyphs::Ascii,
        ..Settings::new().expect("keymap")
    };
    let deck = scene.deck_with(settings, (100, 30));
    insta::assert_snapshot!("pair_at_work-ascii", terminal(&deck, (100, 30)).backend());
}
