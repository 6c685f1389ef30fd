//! The themes that are built in, by name.

/// Name and text of each, in the order in which `t` walks through them.
pub const BUILTIN: &[(&str, &str)] = &[
    (
        "default-dark",
        include_str!("../../../themes/default-dark.toml"),
    ),
    (
        "default-light",
        include_str!("../../../themes/default-light.toml"),
    ),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// The text of a built-in theme.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
