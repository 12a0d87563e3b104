//! Looks up names, and checks what is found.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::policy::{Policy, Rejected};

/// Looks up the addresses of a name.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    /// Returns the addresses of a host.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        }
        .boxed()
    }
}

/// A resolver that returns only addresses to which requests may go, so that connections go to the checked addresses.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) policy: Arc<Policy>,
    pub(crate) resolver: Arc<dyn Resolver>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { policy, resolver } = self.clone();
        Box::pin(async move {
            let addresses = resolver.resolve(name.as_str()).await?;
            if !policy.admits(name.as_str(), &addresses) {
                return Err(Rejected::Address.into());
            }
            // The port of the URL takes the place of 0.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
