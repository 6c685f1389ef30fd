//! [`Bound`]: the ports and the operator's socket are open; no client has been answered yet.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use tokio::net::TcpListener;

use super::StartError;
use super::claimed::{Claimed, Inherited};
use super::opened::Opened;
use crate::adapters::port_holder;
use crate::daemon::operator;
use crate::daemon::takeover::{Endpoints, Listeners, LoopState};
use crate::store::operator_socket;
use crate::store::publisher::Publisher;
use crate::store::registry;
use crate::store::secrets;

/// How many groups of ports are tried when strangers hold the first ones.
const GROUPS_MAX: usize = 40;

/// A daemon that has its places. What was inherited goes before the lock does.
#[derive(Debug)]
pub(in crate::daemon) struct Bound {
    pub(super) listeners: Listeners,
    pub(super) endpoints: Endpoints,
    pub(super) socket_name: SocketName,
    pub(super) left: Option<Left>,
    pub(super) opened: Opened,
}

/// What is left of an inheritance once its places are in use.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) loop_state: LoopState,
    pub(super) publisher: Option<Publisher>,
}

/// The name of a socket that this start has made. Taken away when the start fails: a client that
/// finds it would wait for an answer.
#[derive(Debug, Default)]
pub(super) struct SocketName(Option<PathBuf>);

impl SocketName {
    /// The start has not failed.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for SocketName {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed was in the way of binding it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Opened {
    /// Binds what was not inherited.
    pub(in crate::daemon) async fn bind(mut self) -> Result<Bound, StartError> {
        let (endpoints, socket_name, left) = match self.claimed.inherited.take() {
            Some(Inherited {
                endpoints,
                loop_state,
                publisher,
            }) => {
                let left = Left {
                    loop_state,
                    publisher,
                };
                (endpoints, SocketName::default(), Some(left))
            }
            None => {
                let (endpoints, socket_name) = self.claimed.bind().await?;
                (endpoints, socket_name, None)
            }
        };
        let listeners = endpoints
            .listen()
            .map_err(|source| self.claimed.builder.state_failed(source))?;
        Ok(Bound {
            listeners,
            endpoints,
            socket_name,
            left,
            opened: self,
        })
    }
}

impl Claimed {
    /// Control and proxy: the project's own group, the next free one when strangers hold it, or
    /// exactly what the user named; and the operator's socket.
    async fn bind(&mut self) -> Result<(Endpoints, SocketName), StartError> {
        let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let mut taken = Vec::new();
        while taken.len() < GROUPS_MAX {
            let ports = self.ports;
            match (listen(ports.control).await, listen(ports.proxy).await) {
                (Ok(control), Ok(proxy)) => return self.endpoints(control, proxy),
                (control, _) if self.builder.ports.is_some() => {
                    let port = if control.is_err() {
                        ports.control
                    } else {
                        ports.proxy
                    };
                    let holder = port_holder::holder(port);
                    return Err(StartError::PortTaken { port, holder });
                }
                _ => {}
            }
            tracing::warn!(?ports, "another program holds the project's ports");
            taken.push(ports);
            let (user, dirs) = (&self.builder.user_dirs, &self.builder.dirs);
            self.ports = registry::move_on(user, dirs, self.builder.port_base, &taken)
                .map_err(|source| self.builder.registry_failed(source))?;
        }
        Err(StartError::NoPorts {
            base: self.builder.port_base,
        })
    }

    fn endpoints(
        &self,
        control: TcpListener,
        proxy: TcpListener,
    ) -> Result<(Endpoints, SocketName), StartError> {
        let instance_id = self.builder.dirs.instance_id();
        let path = operator_socket::place(&self.builder.user_dirs, &instance_id);
        let socket_name = SocketName(Some(path.clone()));
        let endpoints = || {
            Ok(Endpoints {
                ports: self.ports,
                control: control.into_std()?.into(),
                proxy: proxy.into_std()?.into(),
                operator: operator::bind(&path)?.into_std()?.into(),
                mcp_token: secrets::random_hex(32)?,
            })
        };
        let endpoints = endpoints().map_err(|source: io::Error| StartError::Socket {
            path: path.clone(),
            source,
        })?;
        Ok((endpoints, socket_name))
    }
}
