//! Decks that are open on one daemon.

use super::rig::Rig;
use crate::wire::control::Role;

#[tokio::test]
async fn a_deck_with_two_connections_counts_once_and_only_while_it_has_one() {
    let mut rig = Rig::fresh().await;
    rig.connect_from(std::process::id(), Role::Deck, None, true);
    rig.connect(Role::Cli, None, false);
    assert_eq!(rig.daemon.status().decks, 1);
    let guest = [false, true].map(|operator| rig.connect(Role::Deck, None, operator));
    for connection in guest {
        assert_eq!(rig.daemon.status().decks, 2);
        rig.daemon.disconnect(connection.conn);
    }
    assert_eq!(rig.daemon.status().decks, 1);
}
