//! What a host name says: always compared as parsed, never by substring.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Whether `url` points to `domain` or a name under it.
pub fn is_under(url: &Url, domain: &str) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_end_matches('.');
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether two addresses are on the same host.
pub fn are_same(one: &str, other: &str) -> bool {
    let host = |text: &str| text.parse::<Url>().ok()?.host_str().map(str::to_owned);
    host(one).is_some_and(|one| host(other) == Some(one))
}

/// Whether the server is on this machine or in its network.
pub fn is_local(url: &Url) -> bool {
    const CONTAINER_HOSTS: [&str; 3] = ["docker.internal", "containers.internal", "lima.internal"];
    match address(url) {
        Some(IpAddr::V4(ip)) => is_local_v4(ip),
        Some(IpAddr::V6(ip)) => is_local_v6(ip),
        None => {
            is_under(url, "localhost") || CONTAINER_HOSTS.iter().any(|host| is_under(url, host))
        }
    }
}

/// Whether the server is on this very machine.
pub fn is_loopback(url: &Url) -> bool {
    address(url).map_or_else(|| is_under(url, "localhost"), |ip| ip.is_loopback())
}

fn address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}

fn is_local_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || is_shared
}

fn is_local_v6(ip: Ipv6Addr) -> bool {
    ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_domain_is_not_a_substring() {
        let check = |text, expected| assert_eq!(is_under(&url(text), "openrouter.ai"), expected);
        check("https://openrouter.ai/api/v1", true);
        check("https://OpenRouter.ai./api/v1", true);
        check("https://eu.openrouter.ai", true);
        check("https://openrouter.ai.evil.test/v1", false);
        check("https://evilopenrouter.ai", false);
        check("https://evil.test/openrouter.ai", false);
        check("https://openrouter.ai@evil.test/", false);
    }

    #[test]
    fn local_hosts() {
        let check = |host: &str, local, loopback| {
            let url = url(&format!("http://{host}:8080/v1"));
            assert_eq!(
                (is_local(&url), is_loopback(&url)),
                (local, loopback),
                "{host}"
            );
        };
        check("127.0.0.1", true, true);
        check("localhost", true, true);
        check("[::1]", true, true);
        check("192.168.1.4", true, false);
        check("100.64.0.1", true, false);
        check("100.128.0.1", false, false);
        check("169.254.1.1", true, false);
        check("[fd00::1]", true, false);
        check("host.docker.internal", true, false);
        check("docker.internal.evil.test", false, false);
        check("8.8.8.8", false, false);
        check("api.openai.com", false, false);
    }
}
