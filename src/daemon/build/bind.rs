//! Where a daemon listens when nobody left it a place: ports and the operator's socket.

use std::net::Ipv4Addr;

use tokio::net::TcpListener;

use super::{Builder, StartError};
use crate::adapters::port_holder;
use crate::daemon::estate::Premises;
use crate::daemon::operator;
use crate::store::operator_socket;
use crate::store::registry::{self, Ports};
use crate::store::secrets;

/// How many groups of ports are tried when strangers hold the first ones.
const GROUPS_MAX: usize = 40;

impl Builder {
    /// Binds control and proxy: the project's own group, the next free one when strangers hold
    /// it, or exactly what the user named; and the operator's socket.
    pub(super) async fn bind(&self) -> Result<Premises, StartError> {
        let mut ports = registry::allocate(&self.user_dirs, &self.dirs, self.port_base, self.ports)
            .map_err(|source| self.registry_failed(source))?;
        let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let mut taken = Vec::new();
        while taken.len() < GROUPS_MAX {
            match (listen(ports.control).await, listen(ports.proxy).await) {
                (Ok(control), Ok(proxy)) => return self.premises(ports, control, proxy),
                (control, _) if self.ports.is_some() => {
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
            ports = registry::move_on(&self.user_dirs, &self.dirs, self.port_base, &taken)
                .map_err(|source| self.registry_failed(source))?;
        }
        Err(StartError::NoPorts {
            base: self.port_base,
        })
    }

    fn premises(
        &self,
        ports: Ports,
        control: TcpListener,
        proxy: TcpListener,
    ) -> Result<Premises, StartError> {
        let path = operator_socket::place(&self.user_dirs, &self.dirs.instance_id());
        let premises = || {
            Ok(Premises {
                ports,
                control: control.into_std()?.into(),
                proxy: proxy.into_std()?.into(),
                operator: operator::bind(&path)?.into_std()?.into(),
                mcp_token: secrets::random_hex(32)?,
            })
        };
        premises().map_err(|source| StartError::Socket {
            path: path.clone(),
            source,
        })
    }
}
