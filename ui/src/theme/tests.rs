use super::super::{BUILTIN, Depth, Theme, ThemeFile, ThemeRole};

#[test]
fn every_built_in_theme_loads_at_every_depth() {
    for (name, _) in BUILTIN {
        for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::Rgb] {
            let theme = Theme::builtin(name, depth).unwrap();
            assert_eq!(theme.name, *name);
        }
    }
}

#[test]
fn the_default_theme_names_every_role() {
    let file = ThemeFile::parse(BUILTIN[0].1).unwrap();
    let missing: Vec<_> = ThemeRole::ALL
        .iter()
        .map(|role| role.name())
        .filter(|name| !file.roles.contains_key(*name))
        .collect();
    assert_eq!(
        missing, [""; 0],
        "roles that default-dark.toml does not name"
    );
}

#[test]
fn a_misspelt_role_is_an_error_with_its_line() {
    let error = ThemeFile::parse("[palette]\nx = \"#000000\"\n[roles]\n\"text\" = { fg = \"x\" }\n\"state.bussy\" = { fg = \"x\" }\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 5, column 1: no role 'state.bussy'; did you mean 'state.busy'?"
    );
}

#[test]
fn colours_outside_the_palette_and_unknown_words_are_errors() {
    let line = |text: &str| {
        let theme = Theme::load("t", text, |_| None, Depth::Rgb);
        theme.unwrap_err().to_string()
    };
    assert_eq!(
        line("[roles]\ntext = { fg = \"nope\" }"),
        "line 2, column 15: 'nope' is not in [palette]"
    );
    assert_eq!(
        line("[palette]\nx = \"red\""),
        "line 2, column 5: 'red' is no colour of the form #rrggbb"
    );
    assert_eq!(
        line("[palette]\nx = \"#123456\"\n[ansi]\nx = \"pink\""),
        "line 4, column 5: 'pink' is none of the 16 colours"
    );
    assert!(
        line("[roles]\ntext = { mods = [\"blink\"] }")
            .starts_with("line 2, column 18: no modifier 'blink'")
    );
    assert!(
        line("[roles]\ntext = { colour = \"x\" }")
            .starts_with("line 2, column 10: unknown field `colour`")
    );
    assert!(line("what").starts_with("line 1, column "));
}

#[test]
fn a_missing_role_falls_back_to_the_left_and_then_to_text() {
    let text = "[palette]\na = \"#010203\"\nb = \"#040506\"\n[roles]\ntext = { fg = \"a\" }\nstate = { fg = \"b\" }";
    let theme = Theme::load("t", text, |_| None, Depth::Rgb).unwrap();
    assert_eq!(
        theme.style(ThemeRole::StateBusy).fg,
        theme.style(ThemeRole::StateIdle).fg
    );
    assert_ne!(
        theme.style(ThemeRole::StateBusy).fg,
        theme.style(ThemeRole::Text).fg
    );
    assert_eq!(theme.style(ThemeRole::Wait), theme.style(ThemeRole::Text));
}

#[test]
fn a_child_changes_only_what_it_names_and_a_circle_is_refused() {
    let child =
        "inherits = \"default-dark\"\n[palette]\na = \"#010203\"\n[roles]\nwait = { fg = \"a\" }";
    let theme = Theme::load("t", child, |_| None, Depth::Rgb).unwrap();
    let parent = Theme::builtin("default-dark", Depth::Rgb).unwrap();
    assert_eq!(theme.style(ThemeRole::Text), parent.style(ThemeRole::Text));
    assert_ne!(theme.style(ThemeRole::Wait), parent.style(ThemeRole::Wait));
    let circle = "inherits = \"me\"";
    assert!(
        Theme::load("me", circle, |_| Some(circle.to_owned()), Depth::Rgb)
            .unwrap_err()
            .message
            .contains("circle")
    );
}

#[test]
fn a_child_may_change_only_the_colours_and_begin_with_a_parent_of_its_own() {
    let parent = "inherits = \"default-dark\"\n[palette]\nwaits = \"#010203\"";
    let child = "about = \"mine\"\ninherits = \"parent\"\n[palette]\nred = \"#040506\"";
    let find = |name: &str| (name == "parent").then(|| parent.to_owned());
    let theme = Theme::load("t", child, find, Depth::Rgb).unwrap();
    assert_eq!(theme.about, "mine");
    let fg = |role| theme.style(role).fg;
    assert_eq!(fg(ThemeRole::Wait), fg(ThemeRole::StateWaiting));
    assert_eq!(
        fg(ThemeRole::Wait),
        Some(ratatui::style::Color::Rgb(1, 2, 3))
    );
    let failed = Some(ratatui::style::Color::Rgb(4, 5, 6));
    assert_eq!(fg(ThemeRole::OutcomeFailed), failed);
    // The parent's choice among the 256 was for the parent's red.
    let indexed = Theme::load("t", child, find, Depth::Ansi256).unwrap();
    let black = Some(ratatui::style::Color::Indexed(16));
    assert_eq!(indexed.style(ThemeRole::OutcomeFailed).fg, black);
}

#[test]
fn a_mistake_in_a_parent_is_told_where_the_child_begins_with_it() {
    let child = "\ninherits = \"parent\"";
    let error = |parent: &str| {
        let find = |_: &str| Some(parent.to_owned());
        let theme = Theme::load("t", child, find, Depth::Rgb);
        theme.unwrap_err().to_string()
    };
    assert_eq!(
        error("[roles]\ntext = { fg = \"nope\" }"),
        "line 2, column 12: inherits 'parent', where line 2, column 15: 'nope' is not in [palette]"
    );
    assert_eq!(
        error("[roles]\ntxt = {}"),
        "line 2, column 12: inherits 'parent', where line 2, column 1: no role 'txt'; did you \
         mean 'text'?"
    );
    let missing = Theme::load("t", child, |_| None, Depth::Rgb);
    assert_eq!(
        missing.unwrap_err().to_string(),
        "line 2, column 12: inherits 'parent', which does not exist"
    );
    let own = "[palette]\na = \"#010203\"\n[indexed]\na = 3";
    let low = Theme::load("t", own, |_| None, Depth::Rgb);
    assert!(
        low.unwrap_err()
            .to_string()
            .starts_with("line 4, column 5: the first 16")
    );
}

#[test]
fn in_sixteen_colours_a_selection_is_reversed() {
    let theme = Theme::builtin("default-light", Depth::Ansi16).unwrap();
    let mods = |role| theme.style(role).add_modifier;
    assert_eq!(
        mods(ThemeRole::SelectionFocus),
        ratatui::style::Modifier::REVERSED
    );
    assert_eq!(mods(ThemeRole::Selection), ratatui::style::Modifier::BOLD);
}

#[test]
fn without_colour_no_style_has_one() {
    for (name, _) in BUILTIN {
        let theme = Theme::builtin(name, Depth::None).unwrap();
        for role in ThemeRole::ALL {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{name} {}", role.name());
        }
        assert!(
            !theme
                .style(ThemeRole::SelectionFocus)
                .add_modifier
                .is_empty(),
            "{name}: the selection is lost"
        );
    }
}
