//! Hashes in PHC string form, computed in memory that the caller provides.

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{Error, Result};
use argon2::{Algorithm, Argon2, Params, Version};

use super::memory::Memory;

/// Hashes a password with this salt.
pub(super) fn hash(argon2: &Argon2<'_>, password: &[u8], salt: &[u8], memory: &mut Memory) -> Result<PasswordHash> {
    let output_len = argon2.params().output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
    Ok(PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(argon2.params())?,
        salt: Some(Salt::new(salt)?),
        hash: Some(compute(argon2, password, salt, output_len, memory)?),
    })
}

/// Whether the password has this hash; compares in constant time.
pub(super) fn verify(password: &[u8], stored: &PasswordHash, memory: &mut Memory) -> Result<bool> {
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
        return Err(Error::PasswordInvalid);
    };
    let algorithm = Algorithm::try_from(stored.algorithm.as_str())?;
    let version = stored.version.map(Version::try_from).transpose()?.unwrap_or_default();
    let argon2 = Argon2::new(algorithm, version, Params::try_from(stored)?);
    Ok(compute(&argon2, password, salt, expected.len(), memory)? == *expected)
}

fn compute(
    argon2: &Argon2<'_>,
    password: &[u8],
    salt: &[u8],
    output_len: usize,
    memory: &mut Memory,
) -> Result<Output> {
    let mut buffer = [0; Output::MAX_LENGTH];
    let output = buffer.get_mut(..output_len).ok_or(Error::OutputSize)?;
    let blocks = memory.blocks(argon2.params().block_count());
    argon2.hash_password_into_with_memory(password, salt, output, blocks)?;
    Ok(Output::new(output)?)
}
