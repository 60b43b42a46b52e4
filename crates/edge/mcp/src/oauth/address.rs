//! Which addresses the documents of a server may send us to.
//!
//! A server on the internet must not make us talk to machines only we can reach. A server that is itself on
//! such a network may.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::sync::OnceCell;
use url::{Host, Url};

/// The rule for everything one server names.
#[derive(Debug)]
pub(crate) struct Boundary {
    server: Url,
    is_private: OnceCell<bool>,
}

impl Boundary {
    pub(crate) fn of(server: &Url) -> Self {
        Self {
            server: server.clone(),
            is_private: OnceCell::new(),
        }
    }

    /// Whether the server itself is on a network that is not the internet.
    pub(crate) async fn is_private(&self) -> bool {
        let look = || async { addresses(&self.server).await.into_iter().any(is_private) };
        *self.is_private.get_or_init(look).await
    }

    /// Why we don't go there, if we don't.
    pub(crate) async fn refusal(&self, url: &Url) -> Option<String> {
        if self.server.scheme() == "https" && url.scheme() != "https" {
            return Some(format!("{url} is not encrypted, and the server is"));
        }
        if url.host() == self.server.host() {
            return None;
        }
        let found = addresses(url).await;
        let never = found.iter().copied().any(is_never_ours);
        let private = found.into_iter().any(is_private);
        (never || (private && !self.is_private().await))
            .then(|| format!("{url} is on a private network, and the server is not"))
    }
}

/// Where a URL leads. Nowhere if the name is unknown here: behind a proxy that is normal.
async fn addresses(url: &Url) -> Vec<IpAddr> {
    match url.host() {
        None => Vec::new(),
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => {
            let port = url.port_or_known_default().unwrap_or(443);
            match tokio::net::lookup_host((name, port)).await {
                Ok(found) => found.map(|address| address.ip()).collect(),
                Err(_) => Vec::new(),
            }
        }
    }
}

fn is_private(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || a == 0
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (b == 18 || b == 19))
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    }
}

/// Where cloud machines keep their own credentials: no server has business there.
fn is_never_ours(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The IPv4 address inside an IPv6 one, where there is one.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => join(g, h).into(),
        [0x2002, ..] => join(b, c).into(),
        _ if v6 == Ipv6Addr::LOCALHOST => Ipv4Addr::LOCALHOST.into(),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_public_server_cannot_send_us_into_a_private_network() {
        let check = async |server: &str, target: &str, allowed: bool| {
            let boundary = Boundary::of(&Url::parse(server).unwrap());
            let refusal = boundary.refusal(&Url::parse(target).unwrap()).await;
            assert_eq!(refusal.is_none(), allowed, "{server} → {target}");
        };
        let public = "https://93.184.215.14/mcp";
        check(public, "https://1.1.1.1/x", true).await;
        check(public, "http://1.1.1.1/x", false).await;
        check(public, "https://93.184.215.14/other", true).await;
        for private in [
            "10.0.0.1",
            "127.0.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::a00:1]",
            "[fd00::1]",
            "[fe80::1]",
        ] {
            check(public, &format!("https://{private}/x"), false).await;
        }
        let private = "http://192.168.1.5:8000/mcp";
        check(private, "http://192.168.1.6/x", true).await;
        check(private, "http://169.254.169.254/x", false).await;
        check(private, "https://1.1.1.1/x", true).await;
    }
}
