//! The cards of what the agents ask before they go on.

use ctxrelay_ui::model as ui;

use super::{agent_of, small};
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::{ApprovalKind, ChoiceEffect};
use crate::core::policy::{GitUse, RuleInForce, git_use};
use crate::core::snapshot::ApprovalSnapshot;
use crate::deck::model::Model;

/// A card for each, and one for those that are not in the record: what a helper of Codex's asks is
/// for its terminal.
pub(super) fn cards(model: &Model) -> Vec<ui::InboxCard> {
    let open = &model.world.open_approvals;
    let rules = &model.status.policy.rules;
    let mut cards: Vec<ui::InboxCard> = open.values().map(|asked| card(asked, rules)).collect();
    let of_codex = model
        .status
        .approvals
        .pending
        .saturating_sub(open.len() as u64);
    let of_helpers = small(of_codex);
    if of_helpers > 0 {
        cards.push(ui::InboxCard::new(
            ui::InboxKind::Approval,
            "codex-approvals",
            ui::Agent::Codex,
            model.world.agent(Agent::Codex).since_ms,
            "Codex waits for your approval: answer it in its terminal.",
        ));
    }
    let of_claude = open.values().any(|asked| asked.agent == Agent::Claude);
    if model.status.agents.claude.state == AgentState::Waiting && !of_claude {
        cards.push(ui::InboxCard::new(
            ui::InboxKind::Approval,
            "claude-waits",
            ui::Agent::Claude,
            model.world.agent(Agent::Claude).since_ms,
            "Claude waits for you in its own pane.",
        ));
    }
    cards
}

fn card(asked: &ApprovalSnapshot, rules: &[RuleInForce]) -> ui::InboxCard {
    let request = &asked.request;
    // The text repeats what is asked in its first lines.
    let details = asked.text.split_once('\n').map_or("", |(_, rest)| rest);
    let details = details.strip_prefix(request.subject.as_str());
    let details = details.unwrap_or_default().trim_start_matches('\n');
    let choices = request.choices.iter().map(|choice| ui::AskedChoice {
        id: choice.id.clone(),
        label: choice.label.clone(),
        effect: match choice.effect {
            ChoiceEffect::Deny => ui::AnswerEffect::Deny,
            ChoiceEffect::Stop => ui::AnswerEffect::Stop,
            _ => ui::AnswerEffect::Allow,
        },
    });
    let given = asked.given.as_ref().map(|(id, _)| {
        let chosen = request.choice(id);
        chosen.map_or_else(|| id.clone(), |choice| choice.label.clone())
    });
    ui::InboxCard {
        seq: Some(asked.seq.0),
        asked: Some(Box::new(ui::AskedCard {
            what: what(&request.kind).to_owned(),
            details: details.to_owned(),
            hints: git_hint(&request.kind, &request.subject)
                .into_iter()
                .flat_map(|hint| std::iter::once(hint).chain(git_rule(asked.agent, rules)))
                .collect(),
            choices: choices.collect(),
            given,
        })),
        ..ui::InboxCard::new(
            ui::InboxKind::Approval,
            asked.id.to_string(),
            agent_of(asked.agent),
            asked.at_ms,
            request.subject.clone(),
        )
    }
}

/// What a command does with git, where that is more than reading.
fn git_hint(kind: &ApprovalKind, command: &str) -> Option<String> {
    if *kind != ApprovalKind::Command {
        return None;
    }
    match git_use(command) {
        GitUse::NoWrite => None,
        GitUse::Unclear(why) => Some(format!("may write to git: {why}")),
        GitUse::Write(what) => Some(format!("writes to git: {what}")),
    }
}

/// What the operator's rule says of this agent's writes to git. Codex may ask all the same, and the
/// operator may say yes.
fn git_rule(agent: Agent, rules: &[RuleInForce]) -> Option<String> {
    let rule = rules
        .iter()
        .find(|rule| rule.agent == agent && matches!(rule.rule.as_str(), "coordinator" | "git"))?;
    let mark = rule.mark();
    Some(match rule.rule.as_str() {
        "coordinator" => format!(
            "your rule: {} leaves git's writes to others ({mark})",
            agent.title()
        ),
        _ => format!(
            "your rule: {} for {} ({mark})",
            rule.comes_to,
            agent.title()
        ),
    })
}

fn what(kind: &ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Command => "to run a command",
        ApprovalKind::FileChange => "to change files",
        ApprovalKind::Permissions => "for more than its sandbox allows",
        ApprovalKind::Tool => "to use a tool",
        ApprovalKind::Question => "a question",
        ApprovalKind::Other(_) => "something new",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::core::entry::ApprovalRequest;
    use crate::core::id::{EntryId, Seq};
    use crate::core::policy::{Coordinator, PolicyChange, PolicyRules};

    fn hints(kind: ApprovalKind, subject: &str) -> Vec<String> {
        hints_under(&PolicyRules::default(), kind, subject)
    }

    fn hints_under(rules: &PolicyRules, kind: ApprovalKind, subject: &str) -> Vec<String> {
        let rules = rules.in_force(true);
        let asked = ApprovalSnapshot {
            id: EntryId::new("a-1"),
            seq: Seq(1),
            agent: Agent::Codex,
            at_ms: 0,
            request: ApprovalRequest {
                kind,
                key: "k".to_owned(),
                subject: subject.to_owned(),
                cwd: None,
                reason: None,
                choices: Vec::new(),
                thread_id: None,
                turn_id: None,
            },
            text: format!("asks\n{subject}"),
            given: None,
        };
        card(&asked, &rules).asked.unwrap().hints
    }

    #[test]
    fn a_card_shows_the_rule_where_the_command_may_break_it() {
        let to = Some(Coordinator::Claude);
        let rules = PolicyRules::default().with(PolicyChange::Coordinator { to });
        let rule = "your rule: Codex leaves git's writes to others (ADVISORY)";
        let hints = |subject| hints_under(&rules, ApprovalKind::Command, subject);
        assert_eq!(hints("git push"), ["writes to git: git push", rule]);
        assert_eq!(hints("$TOOL run")[1], rule);
        assert!(hints("git log -3").is_empty());
    }

    #[test]
    fn a_card_says_what_its_command_writes_to_git() {
        let of_command = |subject: &str| hints(ApprovalKind::Command, subject);
        let commit = "/bin/bash -lc 'cargo test && git commit -am done'";
        assert_eq!(of_command(commit), ["writes to git: git commit"]);
        let unclear = "may write to git: which program runs is not in the text";
        assert_eq!(of_command("$TOOL run"), [unclear]);
        assert!(of_command("git log -3").is_empty());
        assert!(hints(ApprovalKind::Tool, "git commit").is_empty());
    }
}
