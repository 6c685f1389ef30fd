//! `ctxrelay guide [PAGE]`.

use std::sync::LazyLock;

use clap::ValueEnum;
use regex::{Captures, Regex};
use serde_json::json;

use crate::cli::exit::CliOutcome;
use crate::cli::output::Output;
use crate::cli::report::Report;

/// Arguments of `guide`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay guide delivery")]
pub struct Args {
    /// The page; without it their list
    pub page: Option<GuidePage>,
}

/// A page of the guide, in the order in which they are listed. Each is a file of `src/guide/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GuidePage {
    /// The screen, and how to work with it
    Deck,
    /// What each key does
    Keys,
    /// Keys, themes and notifications of your own
    Customize,
    /// What waits for you: approvals, questions, alarms, sign-off
    Decisions,
    /// How messages reach an agent, and what counts as delivered
    Delivery,
    /// How full a context is, and what an agent knows after a compaction
    Context,
    /// Tasks that travel as one file
    Tasks,
    /// Findings of reviews of a pull request
    Reviews,
    /// Evidence: commands that the daemon runs itself
    Gates,
    /// What each agent may do, and who writes to git
    Rules,
    /// Decisions that nothing without your key can forge
    Signing,
    /// The files of the record; clearing, deleting, compacting
    Record,
    /// `config.json`, and environment variables
    Configuration,
    /// Faults, and how to go on after them
    Troubleshooting,
    /// What is enforced, and against whom
    Security,
    /// What is not there yet
    Limits,
}

impl GuidePage {
    /// The page as it stands in the repository, in Markdown.
    pub fn markdown(self) -> &'static str {
        match self {
            Self::Deck => include_str!("../../guide/deck.md"),
            Self::Keys => include_str!("../../guide/keys.md"),
            Self::Customize => include_str!("../../guide/customize.md"),
            Self::Decisions => include_str!("../../guide/decisions.md"),
            Self::Delivery => include_str!("../../guide/delivery.md"),
            Self::Context => include_str!("../../guide/context.md"),
            Self::Tasks => include_str!("../../guide/tasks.md"),
            Self::Reviews => include_str!("../../guide/reviews.md"),
            Self::Gates => include_str!("../../guide/gates.md"),
            Self::Rules => include_str!("../../guide/rules.md"),
            Self::Signing => include_str!("../../guide/signing.md"),
            Self::Record => include_str!("../../guide/record.md"),
            Self::Configuration => include_str!("../../guide/configuration.md"),
            Self::Troubleshooting => include_str!("../../guide/troubleshooting.md"),
            Self::Security => include_str!("../../guide/security.md"),
            Self::Limits => include_str!("../../guide/limits.md"),
        }
    }

    /// The page for a terminal: a link to another page names the command that prints it, and one to a
    /// file its place in the repository. What only shows a picture is left out, and so are the marks
    /// around a generated table.
    pub fn text(self) -> String {
        let lines = self.markdown().lines();
        let lines = lines.filter(|line| !line.starts_with("<!--"));
        lines.map(|line| format!("{}\n", told(line))).collect()
    }

    /// What it is called on the command line.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A line without its links.
fn told(line: &str) -> String {
    static PICTURES: LazyLock<Regex> =
        LazyLock::new(|| expression(r" ?\((?:\[[^\]]+\]\([^)]*screenshots/[^)]*\)(?:, )?)+\)"));
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| expression(r"\[([^\]]+)\]\(([^)#]*)(?:#[^)]*)?\)"));
    let line = PICTURES.replace_all(line, "");
    let told = |link: &Captures<'_>| {
        let (words, place) = (&link[1], &link[2]);
        let page = place.strip_suffix(".md");
        match page.and_then(|name| GuidePage::from_str(name, false).ok()) {
            Some(page) => format!("{words} (`ctxrelay guide {}`)", page.name()),
            None if place.is_empty() || place.contains("screenshots/") => words.to_owned(),
            None => format!(
                "{words} ({} in the repository)",
                place.trim_start_matches("../")
            ),
        }
    };
    LINK.replace_all(&line, told).into_owned()
}

#[expect(clippy::unwrap_used, reason = "a test prints every page")]
fn expression(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

pub fn run(out: &Output, args: &Args) -> CliOutcome {
    let Some(page) = args.page else {
        return list(out);
    };
    let value = json!({"page": page.name(), "format": "markdown", "text": page.markdown()});
    out.report(Report::new(&value, page.text().into_bytes()))
}

fn list(out: &Output) -> CliOutcome {
    let pages = GuidePage::value_variants().iter();
    let values = pages.filter_map(ValueEnum::to_possible_value);
    let told = values.map(|value| {
        let about = value.get_help().map(ToString::to_string);
        (value.get_name().to_owned(), about.unwrap_or_default())
    });
    let told: Vec<(String, String)> = told.collect();
    let value: Vec<_> = told
        .iter()
        .map(|(page, about)| json!({"page": page, "about": about}))
        .collect();
    let rows = told
        .iter()
        .map(|(page, about)| format!("{page:16} {about}\n"));
    let text: String = rows.collect();
    out.report(Report::new(&json!({"pages": value}), text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_a_command_or_a_place_and_none_is_left() {
        for page in GuidePage::value_variants() {
            let text = page.text();
            assert!(!text.contains("]("), "{page:?}: {text}");
            assert!(text.starts_with("# "), "{page:?}");
        }
        let line = "See [all](keys.md#x), [here](#y) ([wide](../../screenshots/a.svg), \
            [mono](../../screenshots/b.png)), [nord](../../screenshots/c.svg) and \
            [those](../../ui/keymap.toml).";
        assert_eq!(
            told(line),
            "See all (`ctxrelay guide keys`), here, nord and those (ui/keymap.toml in the repository)."
        );
    }
}
