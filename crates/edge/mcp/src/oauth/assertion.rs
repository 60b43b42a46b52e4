//! A client that proves who it is with a signature instead of a secret: `private_key_jwt`, RFC 7523.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use crate::config::Secret;
use crate::oauth::tokens::epoch;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";
/// An assertion is good for one request, and clocks differ.
const LIFETIME: u64 = 300;

/// The private half of an ES256 key.
#[derive(Clone, Debug)]
pub struct SigningKey(Arc<EcdsaKeyPair>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    #[error("is no private key in PKCS#8 PEM; `openssl pkcs8 -topk8 -nocrypt` converts others")]
    Pem,
    #[error("is no key for ES256 (ECDSA on P-256)")]
    Kind,
}

/// The system gave no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot sign: no random numbers")]
pub(crate) struct NoRandom;

impl SigningKey {
    pub fn from_pem(pem: &str) -> Result<Self, SigningKeyError> {
        let (_, rest) = pem.split_once(BEGIN).ok_or(SigningKeyError::Pem)?;
        let (body, _) = rest.split_once(END).ok_or(SigningKeyError::Pem)?;
        let body: String = body.split_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| SigningKeyError::Pem)?;
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(kind, &der, &SystemRandom::new());
        let pair = pair.map_err(|_| SigningKeyError::Kind)?;
        Ok(Self(Arc::new(pair)))
    }

    /// Says to `audience` that it is this client who asks.
    pub(crate) fn assertion(
        &self,
        client_id: &str,
        audience: &str,
        now: SystemTime,
    ) -> Result<Secret, NoRandom> {
        let random = SystemRandom::new();
        let mut id = [0; 16];
        random.fill(&mut id).map_err(|_| NoRandom)?;
        let issued = epoch(now) as u64;
        let header = json!({"alg": "ES256", "typ": "JWT"});
        let claims = json!({
            "iss": client_id,
            "sub": client_id,
            "aud": audience,
            "iat": issued,
            "exp": issued + LIFETIME,
            "jti": URL_SAFE_NO_PAD.encode(id),
        });
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.0.sign(&random, signed.as_bytes());
        let signature = signature.map_err(|_| NoRandom)?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(Secret::new(format!("{signed}.{signature}")))
    }
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// The public half tells keys apart.
impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.public_key().as_ref() == other.0.public_key().as_ref()
    }
}

impl Eq for SigningKey {}

#[cfg(test)]
pub(super) mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use pretty_assertions::{assert_eq, assert_ne};
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING, *};

    use super::*;

    fn pem(kind: &'static EcdsaSigningAlgorithm) -> String {
        let der = EcdsaKeyPair::generate_pkcs8(kind, &SystemRandom::new()).unwrap();
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(der))
    }

    /// A new key.
    pub fn key() -> SigningKey {
        SigningKey::from_pem(&pem(&ECDSA_P256_SHA256_FIXED_SIGNING)).unwrap()
    }

    /// What an assertion says, if this key signed it.
    pub fn verified(key: &SigningKey, assertion: &str) -> (Value, Value) {
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.0.public_key());
        public.verify(signed.as_bytes(), &signature).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let read =
            |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        (read(header), read(claims))
    }

    #[test]
    fn an_assertion_names_the_client_and_is_signed() {
        let key = key();
        let now = UNIX_EPOCH + Duration::from_millis(1_000_900);
        let sign = || key.assertion("me", "https://a.test", now).unwrap();
        let (header, mut claims) = verified(&key, sign().expose());
        assert_eq!(header, json!({"alg": "ES256", "typ": "JWT"}));
        let id = claims["jti"].take();
        assert_eq!(id.as_str().unwrap().len(), 22);
        let expected = json!({
            "iss": "me", "sub": "me", "aud": "https://a.test", "iat": 1000, "exp": 1300, "jti": null,
        });
        assert_eq!(claims, expected);
        assert_ne!(verified(&key, sign().expose()).1["jti"], id);
    }

    #[test]
    fn only_an_es256_key_will_do() {
        let check = |pem: &str, expected: SigningKeyError| {
            assert_eq!(SigningKey::from_pem(pem), Err(expected), "{pem}");
        };
        check("", SigningKeyError::Pem);
        check(BEGIN, SigningKeyError::Pem);
        check(&format!("{BEGIN}\n?\n{END}"), SigningKeyError::Pem);
        check(&format!("{BEGIN}\nAAAA\n{END}"), SigningKeyError::Kind);
        let other = pem(&ECDSA_P384_SHA384_FIXED_SIGNING);
        check(&other, SigningKeyError::Kind);
    }

    #[test]
    fn keys_are_told_apart() {
        let key = key();
        assert_eq!(key, key.clone());
        assert_ne!(key, self::key());
    }
}
