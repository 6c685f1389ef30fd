//! Which words of an agent a model would be asked about.

use serde_json::json;

use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::continuity::INFERENCE_WORDS_MAX;
use crate::core::id::{RuntimeSession, ThreadId, TurnId};
use crate::daemon::inferences::Question;
use crate::store::testing::Place;
use crate::wire::config::read;

/// What would be read now.
fn words(rig: &mut Rig) -> Vec<String> {
    let question = Question {
        agent: Agent::Codex,
        pair: RuntimeSession::default(),
        turns: 1,
        unwritten: 1,
        every_turns: 1,
        day: 0,
        recorded: 0,
        per_day: 10,
    };
    let begun = rig.daemon.inferences.begin(&question);
    rig.daemon.inferences.end();
    begun.map(|(words, _)| words).unwrap_or_default()
}

#[tokio::test]
async fn a_secret_is_masked_also_where_its_beginning_is_cut_off() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("U"),
    });
    rig.user_message("U", None);
    rig.settle().await;
    let asked = json!({"continuity": {"extract": {"everyTurns": 5}}});
    let (config, problems) = read(asked.as_object().unwrap());
    assert_eq!(problems, []);
    let body = "MIIEowIBAAKCAQEAplums".repeat(40);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
    // The cut falls into the key.
    let rest = INFERENCE_WORDS_MAX - body.len() / 2;
    let text = [key + &"x".repeat(rest)];
    let pair = RuntimeSession::default();
    rig.daemon
        .hear(Agent::Codex, &pair, &text, Vec::new(), false);
    assert_eq!(words(&mut rig), Vec::<String>::new(), "nobody is asked");
    rig.daemon.configuration.replace(config);
    rig.daemon
        .hear(Agent::Codex, &pair, &text, Vec::new(), false);
    let read = words(&mut rig).concat();
    assert!(read.ends_with("xxx") && !read.contains("plums"), "{read}");
    let dump = ["y".repeat(70_000), "short".to_owned()];
    rig.daemon
        .hear(Agent::Codex, &pair, &dump, Vec::new(), false);
    assert_eq!(words(&mut rig), ["short"], "too much to be masked");
}
