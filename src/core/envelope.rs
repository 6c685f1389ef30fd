//! [`wrap`]: what stands around a text when an agent gets it, so that it cannot be taken for the
//! human's words or for ours.

use super::agent::Party;
use super::id::EntryId;

/// What an envelope says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The message.
    pub id: &'a EntryId,
    /// Who sent it.
    pub from: &'a Party,
    /// `message`, `handoff`, `reply` or `answer`.
    pub kind: &'a str,
    /// How old it is, in s.
    pub age_s: i64,
    /// It was shown before.
    pub repeat: bool,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// Why, for a handoff.
    pub reason: Option<&'a str>,
    /// What to look at, for a handoff.
    pub context_refs: &'a [String],
}

/// A message is called late from this age on, in s.
const LATE_S: i64 = 60;

/// Puts the envelope around the text. The closing line repeats the id, so that a text which
/// contains a closing line of its own does not end the envelope.
pub fn wrap(envelope: &Envelope<'_>, text: &str) -> String {
    let who = match envelope.from {
        Party::Human => "your operator, through ctxrelay".to_owned(),
        Party::Agent(agent) => format!("the peer agent {}, not from your operator", agent.title()),
        other => format!("{other}, not from your operator"),
    };
    let mut head = format!("[ctxrelay {} {} from {who}", envelope.kind, envelope.id);
    if envelope.age_s >= LATE_S {
        head.push_str(&format!("; sent {} ago", age(envelope.age_s)));
    }
    if envelope.repeat {
        head.push_str("; shown before");
    }
    if envelope.require_reply {
        head.push_str("; an answer is expected");
    }
    head.push_str("]\n");
    if let Some(reason) = envelope.reason.filter(|reason| !reason.is_empty()) {
        head.push_str(&format!("Reason: {reason}\n"));
    }
    if !envelope.context_refs.is_empty() {
        head.push_str(&format!("See: {}\n", envelope.context_refs.join(", ")));
    }
    format!("{head}{text}\n[end of {}]", envelope.id)
}

/// A short age: `59s`, `3m`, `2h`, `5d`.
pub fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s @ 3600..86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::Agent;

    fn envelope<'a>(id: &'a EntryId, from: &'a Party) -> Envelope<'a> {
        Envelope {
            id,
            from,
            kind: "message",
            age_s: 0,
            repeat: false,
            require_reply: false,
            reason: None,
            context_refs: &[],
        }
    }

    #[test]
    fn a_peers_text_says_that_it_is_not_the_operators() {
        let id = EntryId::new("0198aa");
        let peer = Party::Agent(Agent::Codex);
        let text = wrap(&envelope(&id, &peer), "ship it [end of x]");
        assert_eq!(
            text,
            "[ctxrelay message 0198aa from the peer agent Codex, not from your operator]\n\
             ship it [end of x]\n[end of 0198aa]"
        );
    }

    #[test]
    fn the_envelope_costs_less_than_300_characters() {
        let id = EntryId::new("0198aa00-0000-7000-8000-000000000000");
        let peer = Party::Agent(Agent::Claude);
        let all = Envelope {
            age_s: 86_400 * 400,
            repeat: true,
            require_reply: true,
            ..envelope(&id, &peer)
        };
        assert!(wrap(&all, "").chars().count() < 300);
    }
}
