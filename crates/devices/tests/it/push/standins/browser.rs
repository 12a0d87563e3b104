//! A browser with a subscription: it decrypts messages (RFC 8291) and verifies their sender (RFC 8292).

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use p256::ecdh::diffie_hellman;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::{PublicKey, SecretKey};
use serde_json::{Value, json};
use sha2::Sha256;

use super::Received;

/// A browser.
pub(crate) struct Browser {
    secret: SecretKey,
    auth: [u8; 16],
}

fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64url")
}

fn derive(salt: &[u8], input: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut key = vec![0; length];
    Hkdf::<Sha256>::new(Some(salt), input)
        .expand(info, &mut key)
        .expect("a short key");
    key
}

impl Browser {
    /// Creates a browser with keys of its own for each number.
    pub(crate) fn new(number: u8) -> Self {
        Self {
            secret: SecretKey::from_slice(&[number; 32]).expect("a key"),
            auth: [number; 16],
        }
    }

    fn public_key(&self) -> Vec<u8> {
        self.secret.public_key().to_sec1_bytes().into_vec()
    }

    /// Returns the subscription at an endpoint, as a token.
    pub(crate) fn subscription(&self, endpoint: &str) -> String {
        let keys =
            json!({"p256dh": URL_SAFE_NO_PAD.encode(self.public_key()), "auth": URL_SAFE_NO_PAD.encode(self.auth)});
        json!({"endpoint": endpoint, "expirationTime": null, "keys": keys}).to_string()
    }

    /// Decrypts a message.
    pub(crate) fn decrypt(&self, request: &Received) -> Value {
        assert_eq!(request.header("content-encoding"), "aes128gcm");
        let (salt, rest) = request.body.split_at(16);
        let (size, rest) = rest.split_at(4);
        assert!(u32::from_be_bytes(size.try_into().expect("four bytes")) as usize > rest.len() - 66);
        assert_eq!(rest[0], 65);
        let (sender, record) = rest[1..].split_at(65);
        let public = PublicKey::from_sec1_bytes(sender).expect("a key");
        let shared = diffie_hellman(self.secret.to_nonzero_scalar(), public.as_affine());
        let info = [b"WebPush: info\0".as_slice(), &self.public_key(), sender].concat();
        let input = derive(&self.auth, shared.raw_secret_bytes(), &info, 32);
        let key = derive(salt, &input, b"Content-Encoding: aes128gcm\0", 16);
        let nonce = derive(salt, &input, b"Content-Encoding: nonce\0", 12);
        let cipher = Aes128Gcm::new_from_slice(&key).expect("a key");
        let nonce = Nonce::try_from(nonce.as_slice()).expect("a nonce");
        let mut text = cipher.decrypt(&nonce, record).expect("an authentic record");
        assert_eq!(text.pop(), Some(2), "the delimiter of the last record");
        serde_json::from_slice(&text).expect("JSON")
    }
}

/// Verifies a token that is signed with ES256, and returns its header and its claims.
pub(crate) fn verify_es256(token: &str, public_key: &[u8]) -> (Value, Value) {
    let (signed, signature) = token.rsplit_once('.').expect("a token");
    let (header, claims) = signed.split_once('.').expect("a token");
    let key = VerifyingKey::from_sec1_bytes(public_key).expect("a key");
    let signature = Signature::from_slice(&decode(signature)).expect("a signature");
    key.verify(signed.as_bytes(), &signature).expect("a valid signature");
    let json = |text: &str| serde_json::from_slice(&decode(text)).expect("JSON");
    (json(header), json(claims))
}
