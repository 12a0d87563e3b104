//! Keys for tests, in PEM.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;

fn pem(der: &[u8]) -> String {
    let lines: Vec<String> = STANDARD
        .encode(der)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let name = ["PRIVATE", "KEY"].join(" ");
    format!("-----BEGIN {name}-----\n{}\n-----END {name}-----\n", lines.join("\n"))
}

/// Returns a new key of P-256 in PEM, and its public key: a point that is not compressed.
pub(crate) fn ec_key() -> (String, Vec<u8>) {
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).expect("a key");
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).expect("a key");
    (pem(document.as_ref()), pair.public_key().as_ref().to_vec())
}

/// Returns a new RSA key in PEM, and its modulus and exponent.
pub(crate) fn rsa_key() -> (String, [BigUint; 2]) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
    let document: Pkcs8V1Der<'_> = pair.as_der().expect("encoded");
    let public = pair.public_key();
    let number = |bytes: &[u8]| BigUint::from_bytes_be(bytes);
    let (modulus, exponent) = (public.modulus(), public.exponent());
    (
        pem(document.as_ref()),
        [
            number(modulus.big_endian_without_leading_zero()),
            number(exponent.big_endian_without_leading_zero()),
        ],
    )
}
