//! [`CapsulePassage`]: a text of a capsule, and the entry that it cites.

use super::{Capsule, CapsuleStatement, LineRef, StatementAuthor};

/// A text of a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapsulePassage<'a> {
    pub text: &'a str,
    /// The finding whose title it is: a stranger's text.
    pub finding: Option<&'a str>,
    /// Who said it, where somebody did.
    pub by: Option<&'a StatementAuthor>,
    /// The entry that says so, where one is known.
    pub line: Option<&'a LineRef>,
    /// When it was said, ms since the epoch, where that is known.
    pub at_ms: Option<i64>,
}

impl Capsule {
    /// Everything in it that can be found by its words: the title, what was said, asked, touched,
    /// run and found.
    pub fn passages(&self) -> Vec<CapsulePassage<'_>> {
        let mut passages = vec![bare(&self.title)];
        passages.extend(self.statements().map(|(_, one)| said(one)));
        passages.extend(self.outcome.iter().map(said));
        passages.extend(self.handoffs.iter().map(|handoff| bare(&handoff.ask)));
        passages.extend(self.touched.iter().map(|file| bare(&file.path)));
        for run in &self.verification {
            passages.push(bare(&run.name));
            passages.extend(run.cmd.as_deref().map(bare));
        }
        passages.extend(self.findings.iter().map(|finding| CapsulePassage {
            finding: Some(&finding.external_id),
            ..bare(&finding.title)
        }));
        passages
    }
}

/// One that no entry is known for.
fn bare(text: &str) -> CapsulePassage<'_> {
    CapsulePassage {
        text,
        finding: None,
        by: None,
        line: None,
        at_ms: None,
    }
}

fn said(said: &CapsuleStatement) -> CapsulePassage<'_> {
    CapsulePassage {
        text: &said.text,
        finding: None,
        by: Some(&said.by),
        line: said.line.as_ref(),
        at_ms: Some(said.at),
    }
}
