//! Agents that are installed, moved or removed while the daemon runs.

use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::daemon::base::agent_programs::FoundPrograms;
use crate::daemon::event::Event;
use crate::wire::control::{Command, Notification, Reply, Role};

impl Rig {
    /// Whether each agent is installed, Claude first.
    async fn installed(&mut self, deck: &Guest) -> [bool; 2] {
        match self.call(deck, Command::ReadStatus).await {
            Ok(Reply::Status(status)) => {
                let agents = status.agents;
                [agents.claude.installed, agents.codex.installed]
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_a_look_for_the_agents_found_is_said_and_who_follows_hears_of_news() {
    let mut rig = Rig::fresh().await;
    let mut deck = rig.connect(Role::Deck, None, true);
    rig.call(&deck, Command::Subscribe).await.unwrap();
    assert_eq!(rig.installed(&deck).await, [true, true]);
    let looks = [
        (FoundPrograms::new(), [false, false], true),
        (
            [(Agent::Codex, "/a/codex".into())].into(),
            [false, true],
            true,
        ),
        (
            [(Agent::Codex, "/a/codex".into())].into(),
            [false, true],
            false,
        ),
        (
            [(Agent::Codex, "/b/codex".into())].into(),
            [false, true],
            true,
        ),
    ];
    for (found, installed, is_news) in looks {
        while deck.notifications.try_recv().is_ok() {}
        rig.daemon.on_event(Event::ProgramsFound(found));
        let told = deck.notifications.try_recv();
        assert_eq!(
            matches!(told, Ok(Notification::StatusChanged {})),
            is_news,
            "{told:?}"
        );
        assert_eq!(rig.installed(&deck).await, installed);
    }
}
