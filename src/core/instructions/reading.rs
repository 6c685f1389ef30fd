//! [`read_or_said`]: which files an agent reads without us.

use std::collections::BTreeSet;

use super::file::{FileName, InstructionFile};
use crate::agent::Agent;

/// What makes Claude pass over `AGENTS.md` (2.1.330, `facts/claude-code.md` §11).
const CLAUDE_OWN: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];

const AGENTS: &str = "AGENTS.md";
const AGENTS_OVERRIDE: &str = "AGENTS.override.md";

/// By the rules. Claude follows `@` lines of the files it reads, Codex none (`facts/codex.md` §14).
fn read_by(agent: Agent, files: &[InstructionFile], fallbacks: &[String]) -> BTreeSet<FileName> {
    let is_there = |name: &str| {
        files
            .iter()
            .any(|file| file.name() == name && !file.text().trim().is_empty())
    };
    let mut read = BTreeSet::new();
    match agent {
        Agent::Claude => {
            let own = CLAUDE_OWN.into_iter().filter(|name| is_there(name));
            read.extend(own.map(str::to_owned));
            if read.is_empty() && is_there(AGENTS) {
                read.insert(AGENTS.to_owned());
            }
            // Files stand behind those that include them.
            for file in files {
                if file.included_by().is_some_and(|by| read.contains(by)) {
                    read.insert(file.name().to_owned());
                }
            }
        }
        Agent::Codex => {
            let names = [AGENTS_OVERRIDE, AGENTS].into_iter();
            let first = names
                .chain(fallbacks.iter().map(String::as_str))
                .find(|name| is_there(name));
            read.extend(first.map(str::to_owned));
        }
    }
    read
}

/// The files that an agent reads by itself: those that it says it read (`said`), else by the rules of
/// the versions that were observed. Claude does not tell of `AGENTS.md` (2.1.330,
/// `facts/claude-code.md` §11).
///
/// `fallbacks`: the names that Codex's configuration adds for folders without an `AGENTS.md`.
pub fn read_or_said(
    agent: Agent,
    files: &[InstructionFile],
    fallbacks: &[String],
    said: Option<BTreeSet<FileName>>,
) -> BTreeSet<FileName> {
    let mut by_rule = read_by(agent, files, fallbacks);
    let Some(said) = said else {
        return by_rule;
    };
    if agent == Agent::Codex || !by_rule.contains(AGENTS) {
        return said;
    }
    by_rule.extend(said);
    by_rule
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> InstructionFile {
        InstructionFile::new(name.to_owned(), "Rule.", None)
    }

    fn read(agent: Agent, files: &[InstructionFile], fallbacks: &[&str]) -> Vec<String> {
        let fallbacks: Vec<String> = fallbacks.iter().map(|name| (*name).to_owned()).collect();
        read_by(agent, files, &fallbacks).into_iter().collect()
    }

    #[test]
    fn claude_reads_the_file_for_agents_only_without_one_of_its_own() {
        let files = [file("AGENTS.md"), file(".cursorrules")];
        assert_eq!(read(Agent::Claude, &files, &[]), ["AGENTS.md"]);
        let files = [file("AGENTS.md"), file("CLAUDE.local.md")];
        assert_eq!(read(Agent::Claude, &files, &[]), ["CLAUDE.local.md"]);
        let empty = InstructionFile::new("CLAUDE.md".to_owned(), " \n", None);
        assert_eq!(
            read(Agent::Claude, &[empty, file("AGENTS.md")], &[]),
            ["AGENTS.md"]
        );
    }

    #[test]
    fn claude_follows_what_its_files_include_and_codex_does_not() {
        let included =
            |name: &str, by: &str| InstructionFile::new(name.to_owned(), "x", Some(by.to_owned()));
        let files = [
            file("CLAUDE.md"),
            included("docs/a.md", "CLAUDE.md"),
            included("docs/b.md", "docs/a.md"),
            file("AGENTS.md"),
            included("docs/c.md", "AGENTS.md"),
        ];
        assert_eq!(
            read(Agent::Claude, &files, &[]),
            ["CLAUDE.md", "docs/a.md", "docs/b.md"]
        );
        assert_eq!(read(Agent::Codex, &files, &[]), ["AGENTS.md"]);
    }

    #[test]
    fn what_an_agent_says_counts_and_of_the_file_that_claude_does_not_tell_of_the_rule() {
        let says = |name: &str| Some(BTreeSet::from([name.to_owned()]));
        let read = |agent, files: &[InstructionFile], said| {
            let read = read_or_said(agent, files, &[], said);
            read.into_iter().collect::<Vec<_>>()
        };
        let files = [file("CLAUDE.md"), file("CLAUDE.local.md")];
        let said = says("CLAUDE.local.md");
        assert_eq!(read(Agent::Claude, &files, said), ["CLAUDE.local.md"]);
        assert_eq!(read(Agent::Claude, &files, None).len(), 2);
        let files = [file("AGENTS.md")];
        let both = ["AGENTS.md", "docs/a.md"];
        assert_eq!(read(Agent::Claude, &files, says("docs/a.md")), both);
        let said = says("docs/a.md");
        assert_eq!(read(Agent::Codex, &files, said), ["docs/a.md"]);
    }

    #[test]
    fn codex_reads_one_file_of_a_folder() {
        let files = [file("AGENTS.md"), file("AGENTS.override.md")];
        assert_eq!(read(Agent::Codex, &files, &[]), ["AGENTS.override.md"]);
        let files = [file("CLAUDE.md")];
        assert!(read(Agent::Codex, &files, &[]).is_empty());
        assert_eq!(read(Agent::Codex, &files, &["CLAUDE.md"]), ["CLAUDE.md"]);
    }
}
