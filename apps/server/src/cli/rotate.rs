//! `secrets rotate`.

use backoffice_core::ids::Ids;
use serde_json::json;

use super::output::Output;
use crate::config::Settings;
use crate::{Result, secrets};

/// Makes a new first key for access tokens.
pub(super) fn jwt(settings: &Settings, output: Output) -> Result<()> {
    let kid = secrets::rotate_jwt(settings, &Ids::default())?;
    let file = secrets::path(&settings.data_dir);
    let text = format!(
        "new first key {kid} in {}; restart `backoffice serve` everywhere to sign with it",
        file.display()
    );
    output.print(&text, &json!({"kid": kid}));
    Ok(())
}
