//! The built-in themes, by name.

/// Name and text of each, in the order in which `t` walks through them.
pub const BUILTIN: &[(&str, &str)] = &[
    (
        "default-dark",
        include_str!("../../themes/default-dark.toml"),
    ),
    (
        "default-light",
        include_str!("../../themes/default-light.toml"),
    ),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.toml"),
    ),
    ("mono", include_str!("../../themes/mono.toml")),
    (
        "catppuccin-mocha",
        include_str!("../../themes/catppuccin-mocha.toml"),
    ),
    (
        "catppuccin-latte",
        include_str!("../../themes/catppuccin-latte.toml"),
    ),
    (
        "gruvbox-dark",
        include_str!("../../themes/gruvbox-dark.toml"),
    ),
    ("nord", include_str!("../../themes/nord.toml")),
    ("rose-pine", include_str!("../../themes/rose-pine.toml")),
    (
        "solarized-dark",
        include_str!("../../themes/solarized-dark.toml"),
    ),
    (
        "solarized-light",
        include_str!("../../themes/solarized-light.toml"),
    ),
    ("tokyo-night", include_str!("../../themes/tokyo-night.toml")),
];

/// The text of a built-in theme.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
