//! [`Hosted`]: the daemon of a deck, in this process or elsewhere.

use crate::cli::connection::operator;
use crate::cli::exit::Failure;
use crate::client::{
    Client, Dial, DialError, Dormancy, WebsocketOptions, connect, operator_dial, project_dial,
};
use crate::daemon::running::Running;
use crate::daemon::start::StartError;
use crate::deck::deck_options::Restarted;
use crate::host::{DaemonFault, ProjectContext};
use crate::store::dirs::{ProjectDirs, exists};
use crate::wire::control::{RefusalCode, Role};

/// The daemon that a deck began with, or the one that was started from it since.
pub(in crate::cli) enum Hosted {
    Here {
        running: Box<Running>,
        client: Client,
    },
    Elsewhere {
        operator: Client,
    },
}

impl Hosted {
    /// Joins a daemon of this process.
    pub(in crate::cli) async fn here(
        project: &ProjectContext,
        mut running: Running,
    ) -> Result<Self, Failure> {
        // Nobody here takes a next process: the operator's way is to leave the deck, and is told so.
        running.next_daemons.close();
        let hello = project.hello(Role::Deck, None);
        let client = Client::in_process(running.handle.clone(), hello, true).await?;
        let running = Box::new(running);
        Ok(Self::Here { running, client })
    }

    /// Starts it again where it failed, unless somebody else has.
    pub(in crate::cli) async fn again(
        &self,
        project: &ProjectContext,
    ) -> Result<(Self, Restarted), Failure> {
        if let Self::Here { running, .. } = self
            && running.handle.is_hung()
        {
            return Err(still_writes());
        }
        may_host(project)?;
        match project.start_daemon().await {
            Ok(running) => {
                let hosted = Self::here(project, running).await?;
                let Self::Here { client, .. } = &hosted else {
                    return Err(Failure::no_daemon());
                };
                let restarted = Restarted {
                    client: client.clone(),
                    operator: client.clone(),
                    hosting: true,
                };
                Ok((hosted, restarted))
            }
            Err(StartError::Owned) => {
                let (client, operator) = clients(project);
                let restarted = Restarted {
                    client,
                    operator: operator.clone(),
                    hosting: false,
                };
                Ok((Self::Elsewhere { operator }, restarted))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The daemon has ended, and what writes its files waits for the disk: until this process ends nobody
/// else may write them.
fn still_writes() -> Failure {
    Failure::unavailable(
        RefusalCode::DaemonEnded,
        "the old daemon still waits for the disk to take its last words: leave the deck, then start \
         `ctxrelay` again",
        DaemonFault::Hung.hint(),
    )
}

/// Refuses a deck below an agent before it starts anything: nobody else would.
pub(in crate::cli) fn may_host(project: &ProjectContext) -> Result<(), Failure> {
    operator::hosting_refusal(&project.user_dirs.registry).map_or(Ok(()), Err)
}

/// Clients of a daemon that runs elsewhere: for reading, and for the operator.
pub(in crate::cli) fn clients(project: &ProjectContext) -> (Client, Client) {
    let hello = project.hello(Role::Deck, None);
    let client = connect(WebsocketOptions {
        dial: dial_until_gone(&project.dirs),
        hello: hello.clone(),
        on_connect: Vec::new(),
    });
    let operator = connect(WebsocketOptions {
        dial: operator_dial(&project.user_dirs, &project.dirs),
        hello,
        on_connect: Vec::new(),
    });
    (client, operator)
}

/// There was a project here: where its folder is not there any more, neither is its record.
fn dial_until_gone(dirs: &ProjectDirs) -> Dial {
    let dial = project_dial(dirs.clone(), Role::Deck, None);
    let (root, relay) = (dirs.root.clone(), dirs.relay.clone());
    Dial::new(move || {
        dial.look().map_err(|error| match exists(&relay) {
            true => error,
            false => DialError::Dormant(Dormancy::Gone(root.clone())),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::program_search::ProgramSearch;
    use crate::core::id::RuntimeSession;
    use crate::store::session::read_current;
    use crate::store::testing::{Place, Stalled};
    use crate::wire::control::DeliveryMode;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_hangs_at_the_disk_is_not_started_again_beside_itself_and_the_way_on_is_said() {
        let place = Place::new();
        let nowhere = ProgramSearch::new("/nowhere/at/all", None);
        let project = ProjectContext {
            begun: place.dirs.relay.clone(),
            dirs: place.dirs.clone(),
            user_dirs: place.user.clone(),
            port_base: 4500,
            ports: None,
            runtime_session: RuntimeSession::default(),
            mode: DeliveryMode::Auto,
            worker: false,
            in_print_mode: false,
            codex_program: nowhere.clone(),
            claude_program: nowhere,
            own_program: std::env::current_exe().unwrap(),
        };
        let running = project.start_daemon().await.unwrap();
        let hosted = Hosted::here(&project, running).await.unwrap();
        let Hosted::Here { running, .. } = &hosted else {
            panic!("it runs elsewhere");
        };
        let session = read_current(&place.dirs).unwrap().unwrap();
        let _stalled = Stalled::of(&place.dirs.ledger(&session));
        running.handle.shutdown(false).await;
        running.handle.ended().cancelled().await;
        let failure = hosted.again(&project).await.err().unwrap();
        let (way_on, next) = (&failure.message, &failure.hint);
        assert!(way_on.contains("leave the deck"), "{way_on}");
        assert!(next.contains("once this process has ended"), "{next}");
    }
}
