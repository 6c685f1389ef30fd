//! The part of a card about what was run: gates, the end of their output, and the blockers.

use ratatui::text::{Line, Span};

use super::card_entries::{CardPart, ShownEntries};
use super::document::Document;
use crate::model::{GateState, InboxCard};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{fit_line, spread};

/// What the gates' key does, in a few words; `stop`: they run.
pub(super) fn gates_key(stop: bool) -> &'static str {
    if stop {
        "stop the gates"
    } else {
        "run the gates"
    }
}

/// What `enter` is asked for after it.
pub(super) fn gates_question(card: &InboxCard, stop: bool) -> String {
    if stop {
        return "Stop the gates? What did not run to its end proves nothing.".to_owned();
    }
    let names = |isolated: bool| {
        // One without a command cannot be run: the configuration does not say what it is.
        let gates = card.gates.iter().filter(|gate| !gate.command.is_empty());
        let gates = gates.filter(|gate| gate.isolated == isolated);
        let names: Vec<String> = gates.map(|gate| sanitize::line(&gate.name)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let here = names(false).map(|names| format!("{names} in the project's folder"));
    let beside = names(true).map(|names| format!("{names} in a clean copy of the commit"));
    let what: Vec<String> = here.into_iter().chain(beside).collect();
    if what.is_empty() {
        return "Run the gates? None of them can be run.".to_owned();
    }
    format!(
        "Run {}? The commands are those that you trusted; what they run may have been written by \
         an agent.",
        what.join(" and ")
    )
}

/// What was run, and what stands against it: that comes first where there is any, so that it is in
/// sight where the card is approved.
pub(super) fn checks(document: &mut Document<'_>, card: &InboxCard, entries: &ShownEntries) {
    forbids(document, card);
    let is_blocked = card.blocker_count() > card.forbids.len() as u64;
    if is_blocked {
        blockers(document, card, entries);
    }
    gates(document, card);
    changed_checks(document, card);
    if !is_blocked {
        document.heading("Blockers", "");
        document.body("none open", ThemeRole::TextMuted);
    }
}

/// What the daemon refuses an approval for, unlike a blocker, over which the operator decides.
fn forbids(document: &mut Document<'_>, card: &InboxCard) {
    if card.forbids.is_empty() {
        return;
    }
    document.heading("Cannot be approved", "before this is green");
    let glyph = document.deck.glyphs.gate(GateState::Failed);
    let failed = document.style(ThemeRole::OutcomeFailed);
    for why in &card.forbids {
        document.bullet(glyph, failed, why);
    }
}

fn blockers(document: &mut Document<'_>, card: &InboxCard, entries: &ShownEntries) {
    document.heading("Blockers", "you may approve all the same");
    let glyph = document.deck.glyphs.wrong();
    let attention = document.style(ThemeRole::OutcomeAttention);
    entries.write(document, CardPart::Blockers, glyph, attention);
    if card.blockers_more > 0 {
        let more = format!("and {} more", text::grouped(card.blockers_more));
        document.body(&more, ThemeRole::OutcomeAttention);
    }
}

fn gates(document: &mut Document<'_>, card: &InboxCard) {
    let deck = document.deck;
    let muted = document.style(ThemeRole::TextMuted);
    if card.gates.is_empty() {
        document.heading("Gates", "");
        document.body(
            "none were run: what stands here is what the agents claim",
            ThemeRole::TextMuted,
        );
    } else {
        let on = match &card.stale_tree {
            None => "run by the daemon on that tree",
            Some(_) => "run by the daemon on what lies there now",
        };
        document.heading("Gates", on);
    }
    for gate in &card.gates {
        let style = document.style(match gate.state {
            GateState::Passed => ThemeRole::OutcomeDone,
            GateState::Failed => ThemeRole::OutcomeFailed,
            GateState::Running => ThemeRole::StateBusy,
            GateState::Missing => ThemeRole::OutcomeAttention,
            GateState::Skipped => ThemeRole::TextMuted,
        });
        let name = text::pad(&sanitize::line(&gate.name), 9);
        let result = sanitize::line(&gate.result);
        let room = document.columns.saturating_sub(text::width(&name) + 6);
        let line = Line::from(vec![
            Span::styled(format!("  {} ", deck.glyphs.gate(gate.state)), style),
            Span::styled(name, document.style(ThemeRole::Text)),
            Span::styled(format!(" {}", sanitize::line(&gate.command)), muted),
        ]);
        // Name and result stand; the command gives way, or has the line for itself.
        let is_beside = text::width(&result) <= room;
        let result = Span::styled(result, muted);
        if is_beside {
            document.line(spread(line, Line::from(result), document.columns));
        } else {
            document.line(fit_line(line, document.columns));
            let result = Line::from(vec![Span::raw("    "), result]);
            document.line(fit_line(result, document.columns));
        }
        for output in &gate.output {
            let line = Line::from(vec![
                Span::raw("    "),
                Span::styled(sanitize::line(output), document.style(ThemeRole::TextFaint)),
            ]);
            document.line(fit_line(line, document.columns));
        }
    }
}

/// What changed of that on which it depends what a gate comes to.
fn changed_checks(document: &mut Document<'_>, card: &InboxCard) {
    let Some(changed) = &card.changed_checks else {
        return;
    };
    document.heading("Tests and manifests", "changed since you approved last");
    let glyph = document.deck.glyphs.wrong();
    let attention = document.style(ThemeRole::OutcomeAttention);
    for name in &changed.named {
        document.bullet(glyph, attention, &sanitize::line(name));
    }
    if changed.more > 0 {
        let more = format!("and {} more", changed.more);
        document.body(&more, ThemeRole::OutcomeAttention);
    }
    if !changed.note.is_empty() {
        document.body(&changed.note, ThemeRole::TextMuted);
    }
}
