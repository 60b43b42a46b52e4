//! Which of a host's addresses are tried.

use std::error::Error;
use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Some networks have IPv6 addresses that lead nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    All,
    /// Only IPv4, where a host has any.
    V4,
}

/// Asks the system. What is written as an address needs no finding and is taken as it is.
#[derive(Debug)]
pub(crate) struct Lookup(pub Addresses);

impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        let wanted = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found: Result<_, Box<dyn Error + Send + Sync>> = found.map_err(Into::into);
            let found: Vec<SocketAddr> = found?.collect();
            let found = match wanted {
                Addresses::All => found,
                Addresses::V4 => v4(found),
            };
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A host without any is better reached the other way than not at all.
fn v4(all: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (v4, v6): (Vec<_>, Vec<_>) = all.into_iter().partition(SocketAddr::is_ipv4);
    if v4.is_empty() { v6 } else { v4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_addresses_count_only_if_there_are_no_others() {
        let check = |all: &[&str], expected: &[&str]| {
            let parse = |texts: &[&str]| -> Vec<SocketAddr> {
                texts.iter().map(|text| text.parse().unwrap()).collect()
            };
            assert_eq!(v4(parse(all)), parse(expected));
        };
        check(&["[::1]:0", "127.0.0.1:0", "[::2]:0"], &["127.0.0.1:0"]);
        check(&["[::1]:0", "[::2]:0"], &["[::1]:0", "[::2]:0"]);
        check(&[], &[]);
    }

    #[tokio::test]
    async fn a_name_is_found() {
        let lookup = Lookup(Addresses::V4);
        let found = lookup.resolve("localhost".parse().unwrap()).await;
        let found: Vec<_> = found.unwrap_or_else(|error| panic!("{error}")).collect();
        assert!(
            !found.is_empty() && found.iter().all(SocketAddr::is_ipv4),
            "{found:?}"
        );
    }
}
