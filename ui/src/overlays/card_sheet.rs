//! [`CardSheet`]: a card of the inbox on one screen, and the only place where it is answered.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::asked::asked;
use super::card_entries::{CardPart, ShownEntries};
use super::card_foot::starts_codex;
use super::card_gates::checks;
use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use super::trust::waiting_keys;
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::Drafts;
use crate::effect::Effect;
use crate::model::{GateState, InboxCard, InboxKind};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, blank, fit_line, join, spans_of, spread, width_of};

/// From this width on, evidence stands beside the gates.
const TWO_COLUMNS: usize = 88;

/// How far the operator has come.
#[derive(Debug, Clone)]
pub(crate) enum CardStage {
    /// Reads; no key decides anything yet.
    Reading,
    /// Has pressed approve; `enter` records it.
    Approving {
        /// The last entry of what was shown by then.
        seen: u64,
        /// The session that it is of.
        session: String,
    },
    /// Types a reason; `enter` records the rejection.
    Rejecting(TextField),
    /// Does not allow what is asked, and may say why.
    Denying(TextField),
    /// Types an answer of its own to the request with this choice; `enter` records it.
    Answering { choice: String, field: TextField },
    /// Has pressed retry; `enter` does it.
    Retrying,
    /// Has pressed acknowledge; `enter` records it.
    Acknowledging,
    /// Has pressed the gates' key; `enter` does what was asked then.
    Gates {
        /// Stop those that run; otherwise run them.
        stop: bool,
    },
    /// Was typing when the card went. Letters that are on their way are no commands: only `esc` does
    /// anything.
    Gone,
}

/// An opened card.
#[derive(Debug, Clone)]
pub(crate) struct CardSheet {
    pub(crate) id: String,
    pub(crate) stage: CardStage,
    pub(crate) scroll: usize,
    /// Which of the entries that it names has the cursor.
    pub(crate) at: Option<usize>,
    /// The cursor was moved: its row is brought into sight once.
    pub(crate) has_moved: bool,
}

impl CardSheet {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            stage: CardStage::Reading,
            scroll: 0,
            at: None,
            has_moved: false,
        }
    }

    /// What `enter` decides about the card now; `None` when it decides nothing.
    pub(crate) fn decide(&self, card: &InboxCard) -> Option<Effect> {
        match &self.stage {
            // What was asked holds no more.
            CardStage::Gates { stop } if *stop != card.are_gates_running() => None,
            CardStage::Gates { stop: true } => Some(Effect::StopGates),
            CardStage::Gates { stop: false } => Some(Effect::RunGates),
            CardStage::Reading | CardStage::Gone => None,
            CardStage::Approving { seen, session } => Some(Effect::Approve {
                proposal_id: self.id.clone(),
                stale_tree: None,
                seen: *seen,
                session: session.clone(),
            }),
            CardStage::Denying(field) => {
                let denial = card.asked.as_ref()?.denial()?;
                let note = field.text().trim().to_owned();
                Some(Effect::AnswerApproval {
                    id: self.id.clone(),
                    choice: denial.id.clone(),
                    note: Some(note).filter(|note| !note.is_empty()),
                })
            }
            CardStage::Rejecting(field) if field.is_blank() => None,
            CardStage::Rejecting(field) => Some(Effect::Reject {
                proposal_id: self.id.clone(),
                reason: field.text().trim().to_owned(),
            }),
            CardStage::Answering { field, .. } if field.is_blank() => None,
            CardStage::Answering { choice, field } => Some(Effect::AnswerApproval {
                id: self.id.clone(),
                choice: choice.clone(),
                note: Some(field.text().trim().to_owned()),
            }),
            CardStage::Retrying => Some(Effect::Retry {
                ids: vec![self.id.clone()],
            }),
            CardStage::Acknowledging => Some(Effect::Acknowledge {
                id: self.id.clone(),
            }),
        }
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let Some(card) = deck.card(&self.id) else {
            let mut document = Document::new(deck, columns);
            let gone = "This card is gone: it was answered or withdrawn elsewhere.";
            document.text(gone, ThemeRole::Text);
            for typed in deck.drafts.left_on(&self.id) {
                document.heading("Not recorded", "what you had typed here");
                document.body(typed, ThemeRole::Text);
            }
            return SheetText {
                title: Line::styled("Over", theme.style(ThemeRole::TitleFocus)),
                lines: document.into_lines(),
                keys: KeyFooter::new(deck, &[(Action::Back, "close")]),
                ..SheetText::default()
            };
        };
        let mut document = Document::new(deck, columns);
        let entries = ShownEntries::new(card, self.at);
        document.extend(head(deck, card, &entries, columns));
        document.gap();
        document.text(&card.summary, ThemeRole::TextStrong);
        if let Some(how) = &card.sign_off {
            document.text(how, ThemeRole::Wait);
        }
        if let Some(starts) = starts_codex(deck, card) {
            document.text(starts, ThemeRole::TextMuted);
        }
        let row;
        if card.kind == InboxKind::Finality && columns >= TWO_COLUMNS {
            let left = (columns - 4) / 2;
            let mut checked = Document::new(deck, left);
            checks(&mut checked, card, &entries);
            let mut claimed = Document::new(deck, columns - 4 - left);
            claims(&mut claimed, card, &entries);
            document.gap();
            row = entries.row(document.len());
            let both = beside(checked.into_lines(), claimed.into_lines(), left, 4);
            document.extend(both);
        } else {
            if card.kind == InboxKind::Finality {
                checks(&mut document, card, &entries);
            }
            claims(&mut document, card, &entries);
            row = entries.row(0);
        }
        if let Some(of) = &card.asked {
            asked(&mut document, of, &card.by);
        }
        if let Some(card) = &card.trust {
            waiting_keys(&mut document, card);
        }
        what_to_do(&mut document, card);
        let lines = document.into_lines();
        let verb = match card.kind {
            InboxKind::Finality => "Is it done?",
            InboxKind::Approval => "May it?",
            InboxKind::Question => "It asks",
            InboxKind::Trust => "Shall it count?",
            InboxKind::Alarm
            | InboxKind::Tampering
            | InboxKind::Stuck
            | InboxKind::CutOff
            | InboxKind::Trouble
            | InboxKind::Limited
            | InboxKind::Full
            | InboxKind::Setup
            | InboxKind::Notice => "Look at this",
        };
        SheetText {
            title: Line::from(vec![
                Span::styled(
                    format!("{} {}", deck.glyphs.card(card.kind), card.kind.as_str()),
                    theme.style(ThemeRole::Wait),
                ),
                Span::styled(format!("  {verb}"), theme.style(ThemeRole::TitleFocus)),
            ]),
            mark: match card.kind.is_state() {
                // Its id says nothing to anybody.
                true => Line::default(),
                false => Line::styled(
                    text::short(&sanitize::line(&card.id), 12),
                    theme.style(ThemeRole::TextFaint),
                ),
            },
            lines,
            cursor: row,
            footer: self.asked(deck, card, columns),
            keys: self.keys(deck, card, columns),
        }
    }

    /// Puts away what is typed, until the card is answered.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        match &self.stage {
            CardStage::Rejecting(field) | CardStage::Denying(field) => {
                drafts.keep_on_card(&self.id, None, field.text());
            }
            CardStage::Answering { choice, field } => {
                drafts.keep_on_card(&self.id, Some(choice), field.text());
            }
            _ => {}
        }
    }

    /// The field that is typed into.
    pub(crate) fn field_mut(&mut self) -> Option<&mut TextField> {
        match &mut self.stage {
            CardStage::Rejecting(field)
            | CardStage::Denying(field)
            | CardStage::Answering { field, .. } => Some(field),
            _ => None,
        }
    }
}

/// By whom, when, on which tree.
fn head(
    deck: &Deck,
    card: &InboxCard,
    entries: &ShownEntries,
    columns: usize,
) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let ago = match text::is_now(deck.view.now_ms, card.at_ms) {
        true => "just now".to_owned(),
        false => text::ago(deck.view.now_ms, card.at_ms),
    };
    if card.kind.is_state() {
        return vec![Line::styled("as it is now", muted)];
    }
    let mut by = vec![
        Span::styled("by ", muted),
        Span::styled(
            format!(
                "{} {}",
                deck.glyphs.party(&card.by),
                sanitize::line(card.by.title())
            ),
            theme.party(&card.by),
        ),
        Span::styled(format!("  {ago}"), muted),
    ];
    if let Some(seq) = card.seq {
        let entry = format!("entry {}", text::grouped(seq));
        by.extend(match entries.is_selected(CardPart::Own, 0) {
            true => {
                let style = theme.style(ThemeRole::Text);
                let style = style.patch(theme.style(ThemeRole::SelectionFocus));
                let style = style.add_modifier(Modifier::REVERSED);
                let cursor = deck.glyphs.cursor();
                [
                    Span::raw(" "),
                    Span::styled(format!("{cursor}{entry}"), style),
                ]
            }
            false => [blank(2), Span::styled(entry, muted)],
        });
    }
    let mut tree = Vec::new();
    let mut same = Vec::new();
    if let Some(commit) = &card.commit {
        tree.push(Span::styled(
            format!("commit {}", text::short(&sanitize::line(commit), 7)),
            muted,
        ));
        if card.changed_files > 0 {
            let s = if card.changed_files == 1 { "" } else { "s" };
            tree.push(Span::styled(
                format!(" + {} changed file{s}", card.changed_files),
                muted,
            ));
        }
    }
    if let Some(hash) = &card.tree {
        tree.push(Span::styled(
            format!("  tree {}", text::short(&sanitize::line(hash), 7)),
            muted,
        ));
    }
    if card.kind == InboxKind::Finality {
        let (word, style) = match card.tree_still_same {
            Some(true) => ("still the same", theme.style(ThemeRole::OutcomeDone)),
            Some(false) => (
                "has changed since",
                theme.style(ThemeRole::OutcomeAttention),
            ),
            None => (
                "not known whether the same",
                theme.style(ThemeRole::OutcomeAttention),
            ),
        };
        let glyph = if card.tree_still_same == Some(true) {
            deck.glyphs.gate(GateState::Passed)
        } else {
            deck.glyphs.wrong()
        };
        same.push(Span::styled(format!("{glyph} {word}"), style));
    }
    let (by, tree, same) = (Line::from(by), Line::from(tree), Line::from(same));
    // Whether the tree is still the same is never cut: each part takes a line before that.
    let all = width_of(&by) + width_of(&tree) + width_of(&same) + 5;
    if all <= columns {
        vec![spread(by, join(vec![tree, same], 2), columns)]
    } else if width_of(&tree) + width_of(&same) + 2 <= columns {
        vec![by, join(vec![tree, same], 2)]
    } else {
        vec![by, fit_line(tree, columns), same]
    }
    .into_iter()
    .filter(|line| width_of(line) > 0)
    .collect()
}

/// What the agent says.
fn claims(document: &mut Document<'_>, card: &InboxCard, entries: &ShownEntries) {
    let dot = document.deck.glyphs.dot();
    let muted = document.style(ThemeRole::TextMuted);
    // Risk first: on a small screen the rest is below the fold.
    if card.kind == InboxKind::Finality {
        document.heading("Remaining risk", "");
        let risk = if card.remaining_risk.trim().is_empty() {
            "none named"
        } else {
            &card.remaining_risk
        };
        document.body(risk, ThemeRole::Text);
    }
    if card.kind == InboxKind::Finality || !card.evidence.is_empty() {
        document.heading("Evidence", "as claimed");
        if card.evidence.is_empty() {
            document.body("none given", ThemeRole::OutcomeAttention);
        }
        entries.write(document, CardPart::Evidence, dot, muted);
    }
    if !card.handles.is_empty() {
        document.heading("Resolves", "");
        entries.write(document, CardPart::Resolves, dot, muted);
    }
    if !card.replaces.is_empty() {
        document.heading("Replaces", "superseded, and decided by nobody");
        entries.write(document, CardPart::Replaces, dot, muted);
    }
}

/// What can be done about it.
fn what_to_do(document: &mut Document<'_>, card: &InboxCard) {
    if card.steps.is_empty() && card.command.is_none() {
        return;
    }
    let dot = document.deck.glyphs.dot();
    let muted = document.style(ThemeRole::TextMuted);
    document.heading("What to do", "");
    for step in &card.steps {
        document.bullet(dot, muted, step);
    }
    if let Some(command) = &card.command {
        document.body(command, ThemeRole::Key);
    }
}

fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    left_columns: usize,
    gap: usize,
) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    (0..rows)
        .map(|_| {
            let mut spans = spans_of(left.next().unwrap_or_default());
            let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
            spans.push(blank(left_columns.saturating_sub(used) + gap));
            spans.extend(spans_of(right.next().unwrap_or_default()));
            Line::from(spans)
        })
        .collect()
}
