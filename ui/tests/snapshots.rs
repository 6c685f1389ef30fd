//! Every scene as text at the sizes that matter, and how each pane and overlay is styled there. More
//! colours are in the pictures (`shots.rs`).

use ctxrelay_ui::scenes::{SCENES, Scene, scene, screen, terminal};
use ctxrelay_ui::{Deck, Settings};
use ratatui::buffer::Buffer;

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

/// Every pane and overlay, each in a scene or two.
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

/// The deck of a scene in a theme.
fn in_theme(scene: &Scene, theme: &str, size: (u16, u16)) -> Buffer {
    let settings = Settings {
        theme: theme.to_owned(),
        ..Settings::new().expect("keymap")
    };
    screen(&scene.deck_with(settings, size), size)
}

#[test]
fn a_theme_changes_no_word() {
    for scene in SCENES {
        for size in SIZES {
            let [mono, dark] = ["mono", "default-dark"].map(|theme| in_theme(scene, theme, size));
            let words = |buffer: &Buffer| -> String {
                let cells = buffer.content.iter();
                cells.map(ratatui::buffer::Cell::symbol).collect()
            };
            assert_eq!(words(&mono), words(&dark), "{} at {size:?}", scene.name);
        }
    }
}

/// How a buffer is styled: a letter for each style, and for each row how many cells have which;
/// equal rows in a row stand once.
fn styles(buffer: &Buffer, legend: &mut Vec<String>) -> String {
    let mut letter = |style: String| {
        let known = legend.iter().position(|one| *one == style);
        let place = known.unwrap_or_else(|| {
            legend.push(style);
            legend.len() - 1
        });
        // Letters, then letters with a number behind them: runs are told apart by blanks.
        let place = u8::try_from(place).expect("few styles");
        match place / 26 {
            0 => char::from(b'a' + place).to_string(),
            _ => format!("{}'", char::from(b'a' + place % 26)),
        }
    };
    let columns = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(columns).map(|row| {
        let mut runs: Vec<(String, usize)> = Vec::new();
        for cell in row {
            let style = format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
            match runs.last_mut() {
                Some((last, count)) if *last == style => *count += 1,
                _ => runs.push((style, 1)),
            }
        }
        let runs = runs.into_iter();
        let runs: Vec<String> = runs
            .map(|(style, count)| format!("{}{count}", letter(style)))
            .collect();
        runs.join(" ")
    });
    let rows: Vec<String> = rows.collect();
    let same = rows.chunk_by(|one, other| one == other);
    same.map(|same| format!("{:>3} {}\n", same.len(), same[0]))
        .collect()
}

#[test]
fn the_main_scenes_are_styled_as_they_were() {
    for scene in SCENES.iter().filter(|scene| MAIN.contains(&scene.name)) {
        for theme in ["mono", "default-dark"] {
            let mut legend = Vec::new();
            let maps = SIZES.map(|size| {
                let map = styles(&in_theme(scene, theme, size), &mut legend);
                format!("{}x{}\n{map}", size.0, size.1)
            });
            let letters = legend.iter().enumerate().map(|(n, style)| {
                let letter = char::from(b'a' + u8::try_from(n % 26).expect("a letter"));
                let more = if n < 26 { "" } else { "'" };
                format!("{letter}{more} {style}\n")
            });
            let text = letters.chain(maps).collect::<String>();
            insta::with_settings!({ snapshot_path => "snapshots/styles" }, {
                insta::assert_snapshot!(format!("{}-{theme}", scene.name), text);
            });
        }
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
