//! [`runtime`], [`control`] and [`operator`]: the ways to a running daemon.
//!
//! A verb tries once: the first failed attempt to connect is its answer, where the agents' clients
//! redial for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::cli::connection::lock_owner::becomes_free;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::client::{
    Client, Connection, Dial, WebsocketOptions, connect, operator_dial, project_dial,
};
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::published::Published;
use crate::wire::control::{Command, RefusalCode, Reply, Role, Welcome};
use crate::wire::status::Status;

/// How long a daemon may take to answer `hello` before it counts as stuck. It answers within
/// milliseconds, or its machine is very busy.
const HELLO_WAIT: Duration = Duration::from_secs(5);

/// A running daemon.
#[derive(Debug, Clone)]
pub struct Live {
    /// The way in.
    pub client: Client,
    /// Its hello.
    pub welcome: Welcome,
}

/// What was found where the daemon should be.
#[derive(Debug)]
pub enum DaemonFound {
    /// It answers.
    Live(Live),
    /// None runs.
    Nobody,
    /// Something is there, and no use.
    Unfit(String),
}

impl Live {
    /// Asks.
    ///
    /// # Errors
    ///
    /// When the daemon refuses, or the connection breaks.
    pub async fn ask(&self, command: Command) -> Result<Reply, Failure> {
        Ok(self.client.call(command).await?)
    }

    /// What the reply to a command carries.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`]; also when the reply is of another kind.
    pub async fn ask_for<T: TryFrom<Reply, Error = Reply>>(
        &self,
        command: Command,
    ) -> Result<T, Failure> {
        Ok(self.client.ask_for(command).await?)
    }

    /// How it stands.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn status(&self) -> Result<Status, Failure> {
        let status: Box<Status> = self.ask_for(Command::ReadStatus).await?;
        Ok(*status)
    }

    /// The folded world.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn snapshot(&self) -> Result<Snapshot, Failure> {
        let world = self.ask_for(Command::ReadSnapshot).await?;
        Ok(Arc::unwrap_or_clone(world))
    }
}

/// A runtime for one verb: one thread, because there is one conversation.
///
/// # Errors
///
/// When the system gives no event queue.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("start the runtime", error))
}

/// Waits for what a verb asks.
///
/// # Errors
///
/// Those of what is asked, and when there can be no runtime.
pub fn wait_for<T>(asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    // As one type: the program would have tokio's whole loop again for each other one.
    let asked: Pin<Box<dyn Future<Output = Result<T, Failure>> + '_>> = Box::pin(asked);
    runtime()?.block_on(asked)
}

/// Looks for the project's daemon on its control port. Never starts one.
pub async fn control(project: &ProjectContext) -> DaemonFound {
    // Without this the dial would be asked in vain, and its reason is none for a person.
    if Published::read(&project.dirs).is_none() {
        return DaemonFound::Nobody;
    }
    first_attempt(project, project_dial(project.dirs.clone(), Role::Cli, None)).await
}

/// Looks for the project's daemon on the operator's socket.
pub async fn operator(project: &ProjectContext) -> DaemonFound {
    first_attempt(project, operator_dial(&project.user_dirs, &project.dirs)).await
}

/// The daemon on its control port, as the answer of a verb that cannot go on without it.
///
/// # Errors
///
/// When none runs, or it cannot be talked to.
pub fn needed(project: &ProjectContext, found: DaemonFound) -> Result<Live, Failure> {
    match found {
        DaemonFound::Live(live) => Ok(live),
        DaemonFound::Nobody => {
            is_nowhere(project)?;
            Err(Failure::no_daemon())
        }
        DaemonFound::Unfit(why) => Err(Failure::unavailable(
            RefusalCode::DaemonUnreachable,
            format!("the daemon of this project cannot be asked: {why}"),
            "see `ctxrelay doctor`; stop it with `ctxrelay kill` and start it again",
        )),
    }
}

/// Where none was found: none runs.
///
/// # Errors
///
/// When one runs after all, with its state in another folder.
pub fn is_nowhere(project: &ProjectContext) -> Result<(), Failure> {
    StateElsewhere::of(project).map_or(Ok(()), |elsewhere| Err(elsewhere.failure()))
}

/// The folded world, from the daemon, or from the disk when none runs.
///
/// # Errors
///
/// When neither can be read.
pub async fn world(project: &ProjectContext) -> Result<Snapshot, Failure> {
    world_by(project, &control(project).await).await
}

/// As [`world`], by what was found before.
pub(in crate::cli) async fn world_by(
    project: &ProjectContext,
    found: &DaemonFound,
) -> Result<Snapshot, Failure> {
    match found {
        DaemonFound::Live(live) => live.snapshot().await,
        DaemonFound::Nobody | DaemonFound::Unfit(_) => disk::snapshot(project),
    }
}

async fn first_attempt(project: &ProjectContext, dial: Dial) -> DaemonFound {
    let client = connect(WebsocketOptions {
        dial,
        hello: project.hello(Role::Cli, None),
        on_connect: Vec::new(),
    });
    let mut connection = client.connection();
    let state = match timeout(HELLO_WAIT, connection.changed()).await {
        Ok(Ok(())) => connection.borrow_and_update().clone(),
        Ok(Err(_)) => return DaemonFound::Unfit("the client has ended".to_owned()),
        Err(_) => return DaemonFound::Unfit("it does not answer".to_owned()),
    };
    match state {
        Connection::Connected(welcome) => DaemonFound::Live(Live { client, welcome }),
        Connection::Dormant(_) => DaemonFound::Nobody,
        Connection::Connecting { why, .. } | Connection::Ended { why } => {
            if is_anybody_there(project).await {
                DaemonFound::Unfit(why)
            } else {
                DaemonFound::Nobody
            }
        }
    }
}

/// Whether somebody accepts connections where the last daemon said that it listens. A daemon that
/// died leaves its word behind, and that is nothing to complain about.
async fn is_anybody_there(project: &ProjectContext) -> bool {
    let Some(published) = Published::read(&project.dirs) else {
        return false;
    };
    let address = (std::net::Ipv4Addr::LOCALHOST, published.control_port);
    let attempt = tokio::net::TcpStream::connect(address);
    matches!(timeout(HELLO_WAIT, attempt).await, Ok(Ok(_)))
}

/// How long a daemon that ends may hold its project after it has stopped to answer.
const ENDING_WAIT: Duration = Duration::from_secs(2);

/// Whether who has the project lets go of it before this client is welcomed. Who does neither for a
/// while is looked for on the screen.
pub(in crate::cli) async fn is_ending(project: &ProjectContext, client: &Client) -> bool {
    let mut connection = client.connection();
    let told = connection.wait_for(|state| !matches!(state, Connection::Connecting { .. }));
    tokio::select! {
        _ = told => false,
        is_free = becomes_free(&project.dirs, ENDING_WAIT) => is_free,
    }
}
