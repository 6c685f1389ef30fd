//! [`WebSocketHandle`]: a caller's end of the connection; [`LinkCall`]: what it sends to the link.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::frame::{request_frame, rest_of};
use crate::client::{ClientError, Connection, Dormancy};
use crate::wire::control::{Command, Notification, Refusal, RefusalCode, Reply};
use crate::wire::jsonrpc::Frame;

/// How long an answer may take, the command's own waiting time aside.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// How long a person may take. Claude gives the hook up after the same time.
const PERSON_WAIT: Duration = Duration::from_secs(3_600);

/// What a command that waits by itself may take beyond its own time.
const WAIT_GRACE: Duration = Duration::from_secs(5);

/// How often a call follows a daemon that moves to another process.
const MOVES_MAX: u32 = 2;

/// A caller's end.
#[derive(Clone)]
pub(in crate::client) struct WebSocketHandle {
    pub(super) calls: mpsc::Sender<LinkCall>,
    pub(super) notifications: broadcast::Sender<Notification>,
    /// Never marked as seen, so that a clone reports the first attempt as a change even when it
    /// is over already.
    pub(super) connection: watch::Receiver<Connection>,
    pub(super) connect_wait: Duration,
    pub(super) _dropped: Arc<DropGuard>,
}

/// A call on its way.
pub(super) struct LinkCall {
    pub(super) frame: Frame,
    /// Set by the first of two: the link that sends it, or the caller that gives up. A call
    /// whose caller was told "not reachable" is never sent.
    claimed: Arc<AtomicBool>,
    answer: oneshot::Sender<Result<Value, ClientError>>,
    /// Cancelled once nobody waits for the answer.
    pub(super) is_over: CancellationToken,
}

impl LinkCall {
    /// The way back to its caller, unless that has given it up.
    pub(super) fn claim(self) -> Option<oneshot::Sender<Result<Value, ClientError>>> {
        let is_given_up = self.claimed.swap(true, Ordering::AcqRel);
        (!is_given_up).then_some(self.answer)
    }
}

impl WebSocketHandle {
    /// Asks. When the daemon goes on in another process just then, that one is asked: the first
    /// said that it did nothing.
    pub(in crate::client) async fn call(&self, command: Command) -> Result<Reply, ClientError> {
        let asked = Instant::now();
        for _ in 0..MOVES_MAX {
            let mut connection = self.connection.clone();
            connection.borrow_and_update();
            match self.call_once(&command, asked).await {
                Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::DaemonMoving => {
                    let _ = timeout(self.connect_wait, connection.changed()).await;
                }
                result => return result,
            }
        }
        self.call_once(&command, asked).await
    }

    /// `asked`: since then a command's own waiting time runs.
    async fn call_once(&self, command: &Command, asked: Instant) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + self.connect_wait;
        self.reachable(deadline).await?;
        let command = rest_of(command, asked.elapsed());
        let answer_wait = match &*command {
            Command::WaitMessages(params) => {
                Duration::from_millis(params.timeout_ms).saturating_add(WAIT_GRACE)
            }
            // A person answers it.
            Command::AskApproval(_) => PERSON_WAIT,
            _ => ANSWER_WAIT,
        };
        let frame = request_frame(&command)?;
        let claimed = Arc::new(AtomicBool::new(false));
        let (answer, mut answered) = oneshot::channel();
        let is_over = CancellationToken::new();
        let _is_over = is_over.clone().drop_guard();
        let call = LinkCall {
            frame,
            claimed: Arc::clone(&claimed),
            answer,
            is_over,
        };
        self.calls
            .try_send(call)
            .map_err(|_| ClientError::Unreachable("too many calls wait already".to_owned()))?;

        let result = match timeout_at(deadline, &mut answered).await {
            Ok(result) => result,
            Err(_) if !claimed.swap(true, Ordering::AcqRel) => {
                return Err(self.unreachable());
            }
            // It was sent within the connect wait; its answer may take its own time.
            Err(_) => match timeout(answer_wait, answered).await {
                Ok(result) => result,
                Err(_) => return Err(ClientError::Unanswered),
            },
        };
        let value = result.unwrap_or(Err(ClientError::Unanswered))?;
        Reply::from_json(value).map_err(|error| ClientError::Protocol(error.to_string()))
    }

    /// Waits until there is a connection, or a daemon that will not give one.
    async fn reachable(&self, deadline: Instant) -> Result<(), ClientError> {
        let mut connection = self.connection.clone();
        let settled = connection.wait_for(|state| match state {
            Connection::Connecting { refusal, .. } => refusal
                .as_ref()
                .is_some_and(Refusal::is_of_another_protocol),
            _ => true,
        });
        match timeout_at(deadline, settled).await {
            Ok(Ok(state)) => match &*state {
                Connection::Dormant(why) => Err(dormant(why)),
                _ => Ok(()),
            },
            Ok(Err(_)) => Err(ClientError::Unreachable("the client has ended".to_owned())),
            Err(_) => Err(self.unreachable()),
        }
    }

    fn unreachable(&self) -> ClientError {
        match &*self.connection.borrow() {
            Connection::Connecting {
                refusal: Some(refusal),
                ..
            } => ClientError::NotAdmitted(refusal.clone()),
            Connection::Connecting { why, .. } | Connection::Ended { why } => {
                ClientError::Unreachable(why.clone())
            }
            Connection::Dormant(why) => dormant(why),
            Connection::Connected(_) => {
                ClientError::Unreachable("it does not take calls".to_owned())
            }
        }
    }

    pub(in crate::client) fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.notifications.subscribe()
    }

    pub(in crate::client) fn connection(&self) -> watch::Receiver<Connection> {
        self.connection.clone()
    }
}

fn dormant(why: &Dormancy) -> ClientError {
    match why {
        Dormancy::Killed => ClientError::Killed,
        Dormancy::NoProject(root) => ClientError::NoProject(root.clone()),
        Dormancy::Gone(root) => ClientError::ProjectGone(root.clone()),
    }
}
