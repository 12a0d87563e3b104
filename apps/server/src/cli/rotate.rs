//! `secrets rotate`.

use backoffice_core::ids::Ids;
use serde_json::json;

use super::output::Output;
use crate::config::Settings;
use crate::{Result, host, secrets};

/// Creates a new first key.
pub(super) fn rotate(settings: &Settings, secret: secrets::Secret, output: Output) -> Result<()> {
    host::check_settings(settings)?;
    let kid = secrets::rotate(settings, secret, &Ids::default())?;
    let file = secrets::path(&settings.data_dir);
    let text = format!(
        "new first key {kid} in {}; restart every `backoffice serve` and `backoffice worker` to use it",
        file.display()
    );
    output.print(&text, &json!({"kid": kid}))
}
