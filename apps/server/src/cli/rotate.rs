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
    let older = match secret {
        secrets::Secret::Vault => {
            "; keep the older keys until `backoffice doctor`, run some minutes later, reports that no value needs them"
        }
        secrets::Secret::Jwt | secrets::Secret::Consent | secrets::Secret::WebPush => "",
    };
    let text = format!(
        "new first key {kid} in {}; restart every `backoffice serve` and `backoffice worker` to use it{older}",
        file.display()
    );
    output.print(&text, &json!({"kid": kid}))
}
