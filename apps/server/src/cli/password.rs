//! Passwords are read from a file or generated, never taken from an argument, which other users of the machine can see.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use secrecy::SecretString;

use crate::{Error, Result};

/// The source of a password.
#[derive(Debug, Args)]
pub(crate) struct PasswordSource {
    /// File with the password; `-` reads standard input
    #[arg(long, value_name = "PATH")]
    password_file: Option<PathBuf>,
    /// Generate one and print it once
    #[arg(long, conflicts_with = "password_file")]
    generate: bool,
}

/// The way in which an account gets its password; one is required.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("password").args(["password_file", "generate", "invite"]).required(true))]
pub(crate) struct PasswordChoice {
    #[command(flatten)]
    pub(crate) source: PasswordSource,
    /// Send a mail with a link instead, with which the user sets the password
    #[arg(long, conflicts_with_all = ["password_file", "generate"])]
    pub(crate) invite: bool,
}

impl PasswordSource {
    /// Reads the password from the file, if one is named.
    pub(crate) fn read(&self) -> Result<Option<SecretString>> {
        let Some(file) = &self.password_file else {
            return Ok(None);
        };
        let mut text = String::new();
        if file.as_os_str() == "-" {
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(Error::file("standard input"))?;
        } else {
            text = fs::read_to_string(file).map_err(Error::file(file))?;
        }
        let password = text.strip_suffix('\n').unwrap_or(&text);
        let password = password.strip_suffix('\r').unwrap_or(password);
        if password.is_empty() {
            return Err(Error::other(format!("{} holds no password", file.display())));
        }
        Ok(Some(password.to_owned().into()))
    }

    /// Returns whether to generate a password.
    #[cfg(feature = "auth")]
    pub(crate) fn generate(&self) -> bool {
        self.generate
    }
}
