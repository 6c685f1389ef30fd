//! Every scene as text, at the sizes that matter. Colours are in the pictures (`shots.rs`).

use ctxrelay_ui::scenes::{SCENES, Scene, scene, screen, terminal};
use ctxrelay_ui::{Deck, Settings};

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

#[test]
fn the_main_scenes_hold_at_every_size() {
    for name in [
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
        "far_back",
        "chips",
        "go_to",
        "thread",
        "agent_state",
        "agent_packet",
        "agent_told",
        "recover",
        "recover_claude",
    ] {
        let scene = scene(name).expect("a scene");
        for size in [(60, 15), (60, 20), (80, 24), (120, 40), (200, 50)] {
            if size != scene.size {
                at(scene, size);
            }
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
