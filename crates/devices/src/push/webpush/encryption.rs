//! Message encryption for web push (RFC 8291), in one record of the encoding `aes128gcm` (RFC 8188).

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::rand;

use super::Subscription;

/// Bytes of the salt.
const SALT: usize = 16;
/// Size of a record, in bytes: longer than any message, which is one record.
const RECORD: u32 = 4096;
/// The delimiter of the last record.
const LAST: u8 = 2;

/// Number of bytes that a key is derived with.
#[derive(Clone, Copy)]
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Encrypts a message for a browser, with a new key and a new salt.
///
/// # Errors
/// When the public key of the subscription is not a point of the curve.
pub(super) fn encrypt(subscription: &Subscription, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let mut salt = [0; SALT];
    rand::fill(&mut salt)?;
    encrypt_with(subscription, text, &PrivateKey::generate(&ECDH_P256)?, salt)
}

fn encrypt_with(
    subscription: &Subscription,
    text: &[u8],
    private: &PrivateKey,
    salt: [u8; SALT],
) -> Result<Vec<u8>, Unspecified> {
    let public = private.compute_public_key()?;
    let (own, browser) = (public.as_ref(), subscription.public_key());
    let info = [b"WebPush: info\0".as_slice(), browser, own];
    let peer = UnparsedPublicKey::new(&ECDH_P256, browser);
    let input = agree(private, peer, Unspecified, |shared| {
        derive(subscription.secret(), shared, &info, 32)
    })?;
    let key = derive(&salt, &input, &[b"Content-Encoding: aes128gcm\0"], 16)?;
    let nonce = derive(&salt, &input, &[b"Content-Encoding: nonce\0"], NONCE_LEN)?;

    let mut record = text.to_vec();
    record.push(LAST);
    LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?).seal_in_place_append_tag(
        Nonce::try_assume_unique_for_key(&nonce)?,
        Aad::empty(),
        &mut record,
    )?;
    let length = u8::try_from(own.len()).map_err(|_| Unspecified)?;
    let mut body = [salt.as_slice(), &RECORD.to_be_bytes(), &[length], own].concat();
    body.append(&mut record);
    Ok(body)
}

/// Derives a key with HKDF-SHA-256.
fn derive(salt: &[u8], input: &[u8], info: &[&[u8]], length: usize) -> Result<Vec<u8>, Unspecified> {
    let mut key = vec![0; length];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(input);
    extracted.expand(info, Length(length))?.fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).expect("base64url")
    }

    #[test]
    fn the_example_of_rfc_8291_is_encrypted_as_there() {
        let subscription = json!({
            "endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
            "keys": {
                "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                "auth": "BTBZMqHH6r4Tts7J_aSIgg",
            },
        });
        let Ok(subscription) = Subscription::parse(&subscription.to_string()) else {
            panic!("a subscription");
        };
        let private = decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let private = PrivateKey::from_private_key(&ECDH_P256, &private).expect("a key");
        let salt = decoded("DGv6ra1nlYgDCS1FRnbzlw").try_into().expect("a salt");

        let body = encrypt_with(
            &subscription,
            b"When I grow up, I want to be a watermelon",
            &private,
            salt,
        );

        assert_eq!(
            URL_SAFE_NO_PAD.encode(body.expect("encrypted")),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_\
             yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }
}
