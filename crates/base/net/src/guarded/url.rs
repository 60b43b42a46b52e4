//! Addresses of pages as people and models write them.

use std::net::IpAddr;

use url::{Host, Url};

use super::Refused;

/// Where these names lead, keys are told to whoever asks.
const METADATA: [&str; 2] = ["metadata.google.internal", "metadata.goog"];

/// Reads an address: names in any script, spaces and letters that must be encoded, `https:// host`.
pub fn read(text: &str) -> Result<Url, Refused> {
    let text = text.trim();
    let repaired = match text.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.trim_start()),
        None => text.to_owned(),
    };
    let url = Url::parse(&repaired).map_err(|error| Refused::NotAUrl(error.to_string()))?;
    place(&url)?;
    Ok(url)
}

/// Where a page is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'u> {
    /// Still to be looked up.
    Name(&'u str),
    /// Written as an address; `url` has understood 0x7f.1 and 2130706433 already.
    Address(IpAddr),
}

/// Only pages have a place, and some names are never looked up.
pub(super) fn place(url: &Url) -> Result<Place<'_>, Refused> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme(url.scheme().to_owned()));
    }
    match url.host() {
        None => Err(Refused::NotAUrl("it names no host".to_owned())),
        Some(Host::Ipv4(address)) => Ok(Place::Address(address.into())),
        Some(Host::Ipv6(address)) => Ok(Place::Address(address.into())),
        Some(Host::Domain(name)) => match METADATA.contains(&bare(name)) {
            true => Err(Refused::Metadata(name.to_owned())),
            false => Ok(Place::Name(name)),
        },
    }
}

/// A name with dots at its end is the same name.
pub(super) fn bare(host: &str) -> &str {
    host.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_becomes_an_address() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).unwrap().as_str(), expected, "{text}");
        };
        check(
            "  https://Example.COM/a b?q=ü ",
            "https://example.com/a%20b?q=%C3%BC",
        );
        check("https:// example.com/x", "https://example.com/x");
        check(
            "https://bücher.example/ß",
            "https://xn--bcher-kva.example/%C3%9F",
        );
        check("HTTP://例え.テスト", "http://xn--r8jz45g.xn--zckzah/");
        check("http://ｅｘａｍｐｌｅ.com", "http://example.com/");
    }

    #[test]
    fn an_address_is_seen_however_it_is_spelled() {
        let check = |text: &str, expected: &str| {
            let url = read(text).unwrap();
            let expected = Place::Address(expected.parse().unwrap());
            assert_eq!(place(&url).unwrap(), expected, "{text}");
        };
        for loopback in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
        ] {
            check(&format!("http://{loopback}/"), "127.0.0.1");
        }
        check("http://①②⑦.0.0.1/", "127.0.0.1");
        check("http://0/", "0.0.0.0");
        check("http://[::ffff:7f00:1]:80/", "::ffff:127.0.0.1");
        check("http://[0:0::1]/", "::1");
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let check = |text: &str| {
            let refused = read(text).unwrap_err();
            assert!(matches!(refused, Refused::NotAUrl(_)), "{text}: {refused}");
        };
        for text in [
            "",
            "example.com",
            "https://",
            "http://a b/",
            "http://1.2.3.4.5/",
        ] {
            check(text);
        }
        // The scope of an address means something on this machine only.
        check("http://[fe80::1%25eth0]/");
        for text in [
            "ftp://x",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "gopher://x",
        ] {
            let refused = read(text).unwrap_err();
            assert!(matches!(refused, Refused::Scheme(_)), "{text}: {refused}");
        }
        for name in [
            "metadata.google.internal",
            "METADATA.goog.",
            "metadata.goog",
        ] {
            let refused = read(&format!("http://{name}/")).unwrap_err();
            assert!(matches!(refused, Refused::Metadata(_)), "{name}: {refused}");
        }
    }
}
