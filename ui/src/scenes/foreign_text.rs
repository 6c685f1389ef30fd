//! [`ForeignText`]: a world in which one text fills every field that holds text. Each type is
//! destructured completely, so a new field does not compile until it is handled here.

use std::sync::Arc;

use crate::model::{
    AgentCard, AgentRecovery, AlikeTo, AnswerParts, AskedCard, AskedChoice, Banner, CapsuleLine,
    CapsulePart, CapsuleRows, CapsuleView, ChangedChecksRow, DeckView, EntryRef, Field,
    FindingPlaceNow, FindingRow, FindingView, FirstStep, FoundEntries, FoundRow, FoundSnippet,
    FoundTask, GateRow, HandoffRow, HeaderDaemon, InboxCard, NamedEntry, PacketView, Party,
    PolicyView, QuestionRow, RecoveryPart, RecoveryRow, RecoveryView, RowOutcome, RulesView,
    RunningTool, ThreadView, TimelineRow, ToldRule, TrustCard, TurnLine, TurnView, UnclearMessage,
    WaitingKey, WorkEvent, WorkFile, WorkLog, WorkResult, WorkSection, WorkValue, WorkView,
};
use crate::msg::Msg;

/// What a text of somebody else's can be put into.
pub trait ForeignText {
    /// Puts it into each field. What identifies something keeps what tells it apart before it.
    fn fill(&mut self, text: &str);
}

impl ForeignText for String {
    fn fill(&mut self, text: &str) {
        text.clone_into(self);
    }
}

impl ForeignText for Arc<str> {
    fn fill(&mut self, text: &str) {
        *self = text.into();
    }
}

impl<T: ForeignText> ForeignText for Option<T> {
    fn fill(&mut self, text: &str) {
        if let Some(inner) = self {
            inner.fill(text);
        }
    }
}

impl<T: ForeignText> ForeignText for Vec<T> {
    fn fill(&mut self, text: &str) {
        self.iter_mut().for_each(|inner| inner.fill(text));
    }
}

impl<T: ForeignText + ?Sized> ForeignText for Box<T> {
    fn fill(&mut self, text: &str) {
        (**self).fill(text);
    }
}

impl ForeignText for Party {
    fn fill(&mut self, text: &str) {
        if let Self::Other(name) = self {
            name.fill(text);
        }
    }
}

/// Fills the fields that are named; those behind the bar hold no text.
macro_rules! fills {
    ($type:ident { $($field:ident),* ; $($id:ident),* ; $($no_text:ident),* }) => {
        impl ForeignText for $type {
            fn fill(&mut self, text: &str) {
                let Self { $($field,)* $($id,)* $($no_text: _,)* } = self;
                $($field.fill(text);)*
                $($id.push_str(text);)*
                let _ = text;
            }
        }
    };
}

fills!(Banner { text; ; level });
fills!(HeaderDaemon { message; ; state });
fills!(RunningTool { text; ; act, since_ms });
fills!(TurnLine { text; ; at_ms, act });
fills!(GateRow { name, command, result, output; ; isolated, state });
fills!(ChangedChecksRow { named, note; ; more });
fills!(AskedCard { what, details, hints, choices, given; ; call_waits_until_ms });
fills!(AskedChoice { label, parts; id; effect });
fills!(AnswerParts { short, comes_to; ; });
fills!(TrustCard { keys, elsewhere; digest; });
fills!(UnclearMessage { from, words; id; line, at_ms });
fills!(PolicyView { coordinator, rules; ; });
fills!(RowOutcome { text; ; state, since_ms, took_ms });
fills!(HandoffRow { id_short, from, to, ask; ; column, stage, seq, since_ms });
fills!(QuestionRow { from, to, ask; ; seq });
fills!(WorkValue { text, tag; ; line });
fills!(WorkSection { title, values; ; });
fills!(PacketView { cause, way, why, text; ; line, at_ms, fate });
fills!(WorkFile { path, how, changed_by; ; line });
fills!(WorkResult { title, sort; ; verdict, line });
fills!(WorkEvent { what; ; at_ms, line });
fills!(WorkView { about, sections, packet, files, results, log; ; agent });
fills!(ToldRule { file, words, why; ; fate });
fills!(RecoveryRow { id, code, text; ; at_ms });
fills!(RecoveryPart { title, note, rows; ; at_ms });
fills!(AgentRecovery { command, prompt; ; agent });
fills!(RecoveryView { parts, agents; ; });
fills!(FoundEntries { rows, fault; ; number, words, total, total_is_at_least, cursor, goes_on, behind,
    unread_lines });
fills!(FoundRow { kind, task, session, from, to, snippet; ; seq, is_foreign, at_ms, marks });
fills!(FoundTask { title; id; standing });
fills!(Field { name, text; ; });
fills!(EntryRef { label, row; ; });
fills!(NamedEntry { text; ; line });
fills!(FindingRow {
    place, title, author, review, url, reason, since;
    id;
    line, severity, state, bot, outdated, blocks, outside
});
fills!(CapsuleLine {
    title, file, broken;
    id;
    is_open, is_current, is_foreign, standing, bytes, findings
});
fills!(CapsuleRows { rows; ; total });
fills!(FoundSnippet { text, cited; ; });
fills!(CapsulePart { title, rows; ; });
fills!(CapsuleView { row, why, parts, origin, digest, draft; ; });
fills!(FindingPlaceNow { now; id; });
fills!(FindingView { text, suggestions, fate, lines; id; start_now, line_now, first });
fills!(TimelineRow {
    from, to, kind, text, mark, thread, outcome;
    id;
    seq, at_ms, sort, text_cut, verdict, is_foreign, bad_lines, folded
});
fills!(AgentCard {
    rung, why, waits_for, detail, tool, turn, turn_id, hint, start_command;
    ;
    agent, state, since_ms, proven, unread, queue, last_note_ms, activity, context, silence,
    limit, cut_off, compacting, installed
});

impl ForeignText for WaitingKey {
    fn fill(&mut self, text: &str) {
        let Self {
            name,
            note,
            lines,
            warnings,
        } = self;
        name.fill(text);
        note.fill(text);
        warnings.fill(text);
        lines.iter_mut().for_each(|(_, line)| line.fill(text));
    }
}

impl ForeignText for TurnView {
    fn fill(&mut self, text: &str) {
        let Self {
            is_running: _,
            lines,
            left_out: _,
            plan,
        } = self;
        lines.fill(text);
        plan.iter_mut().for_each(|(_, step)| step.fill(text));
    }
}

impl ForeignText for WorkLog {
    fn fill(&mut self, text: &str) {
        if let Self::Read(lines) = self {
            lines.fill(text);
        }
    }
}

impl ForeignText for RulesView {
    fn fill(&mut self, text: &str) {
        let Self {
            agent: _,
            rules,
            unread,
            doubts,
        } = self;
        rules.fill(text);
        for (file, why) in unread {
            file.fill(text);
            why.fill(text);
        }
        doubts.fill(text);
    }
}

impl ForeignText for FirstStep {
    fn fill(&mut self, text: &str) {
        let Self {
            text: words,
            command,
            act: _,
            done: _,
        } = self;
        words.fill(text);
        command.fill(text);
    }
}

impl ForeignText for ThreadView {
    fn fill(&mut self, text: &str) {
        let Self {
            asked,
            name,
            rows,
            is_cut: _,
            fault,
        } = self;
        asked.session.push_str(text);
        name.fill(text);
        rows.fill(text);
        fault.fill(text);
    }
}

impl ForeignText for InboxCard {
    fn fill(&mut self, text: &str) {
        let Self {
            kind: _,
            id,
            by,
            at_ms: _,
            seq: _,
            summary,
            evidence,
            remaining_risk,
            handles,
            replaces,
            sign_off,
            gates,
            changed_checks,
            commit,
            changed_files: _,
            tree,
            tree_still_same: _,
            stale_tree,
            forbids,
            blockers,
            blockers_more: _,
            unclear,
            unclear_more: _,
            held: _,
            steps,
            command,
            asked,
            trust,
        } = self;
        id.push_str(text);
        by.fill(text);
        for field in [summary, remaining_risk] {
            field.fill(text);
        }
        for field in [evidence, handles, replaces, blockers] {
            field.fill(text);
        }
        steps.fill(text);
        forbids.fill(text);
        for field in [sign_off, commit, tree, stale_tree, command] {
            field.fill(text);
        }
        gates.fill(text);
        changed_checks.fill(text);
        let mut messages = unclear.to_vec();
        messages.fill(text);
        *unclear = messages.into();
        asked.fill(text);
        trust.fill(text);
    }
}

impl ForeignText for DeckView {
    fn fill(&mut self, text: &str) {
        let Self {
            seen: _,
            now_ms: _,
            local: _,
            project,
            runtime_session,
            session_id,
            ports: _,
            daemon,
            opening,
            banner,
            is_key_unlocked: _,
            ledger: _,
            agents,
            timeline,
            window: _,
            sent,
            tasks,
            handoffs,
            questions,
            questions_open: _,
            findings,
            inbox,
            missing,
            first_run: _,
            policy,
            attached: _,
            has_other_deck: _,
            running_gate,
            demo: _,
        } = self;
        project.fill(text);
        runtime_session.fill(text);
        session_id.push_str(text);
        daemon.fill(text);
        opening.fill(text);
        banner.fill(text);
        agents.fill(text);
        timeline.fill(text);
        sent.iter_mut().for_each(|sent| sent.outcome.fill(text));
        for rows in &mut tasks.columns {
            *rows = rows.map(|row| row.fill(text));
        }
        *handoffs = handoffs.map(|row| row.fill(text));
        questions.fill(text);
        Arc::make_mut(findings).fill(text);
        inbox.fill(text);
        missing.fill(text);
        policy.fill(text);
        running_gate.fill(text);
    }
}

impl ForeignText for Msg {
    fn fill(&mut self, text: &str) {
        match self {
            Self::View(view) => view.fill(text),
            Self::EntryText {
                place,
                row,
                text: words,
                detail,
                refs,
                raw,
            } => {
                place.session.push_str(text);
                row.fill(text);
                words.fill(text);
                detail.fill(text);
                refs.fill(text);
                raw.fill(text);
            }
            Self::Thread(thread) => thread.fill(text),
            Self::FindingPlaces(places) => places.fill(text),
            Self::Finding { id, read } => {
                id.push_str(text);
                match read {
                    Ok(view) => view.fill(text),
                    Err(why) => why.fill(text),
                }
            }
            Self::Capsules(Ok(list)) => list.fill(text),
            Self::Alike { to, found } => {
                match to {
                    AlikeTo::Task(id) => id.push_str(text),
                    // As the person has typed them.
                    AlikeTo::Words(_) => {}
                }
                match found {
                    Ok(found) => ForeignText::fill(found, text),
                    Err(why) => why.fill(text),
                }
            }
            Self::Capsules(Err(why)) => why.fill(text),
            Self::Exported { id, lines } => {
                id.push_str(text);
                lines.fill(text);
            }
            Self::CapsuleText(Ok(told)) => told.push_str(text),
            Self::CapsuleText(Err(why)) => why.fill(text),
            Self::Diff { commit, read } => {
                commit.fill(text);
                match read {
                    Ok(told) => told.push_str(text),
                    Err(why) => why.fill(text),
                }
            }
            Self::Capsule { id, read } => {
                id.push_str(text);
                match read {
                    Ok(view) => view.fill(text),
                    Err(why) => why.fill(text),
                }
            }
            Self::Work(work) => work.fill(text),
            Self::Rules(rules) => rules.fill(text),
            Self::Recovery(Ok(read)) => read.fill(text),
            Self::Found(found) => found.fill(text),
            Self::AskPassphrase { fingerprint, what }
            | Self::AwaitKey {
                fingerprint, what, ..
            } => {
                fingerprint.fill(text);
                what.fill(text);
            }
            Self::Paste(words)
            | Self::NotSent { why: words, .. }
            // What comes back was written here.
            | Self::Refused {
                why: words,
                effect: _,
            }
            | Self::Written { text: words, .. }
            | Self::EditorText(words)
            | Self::Recovery(Err(words))
            | Self::Unlocked(Err(words))
            | Self::Notice(_, words) => words.fill(text),
            Self::Key(_)
            | Self::Mouse(_)
            | Self::Resize(..)
            | Self::Focus(_)
            | Self::Tick(_)
            | Self::OwnFiles(_)
            | Self::Sent { .. }
            | Self::Unanswered(_)
            | Self::Unlocked(Ok(())) => {}
        }
    }
}
