use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::sessions::one_time_token::{self, NewToken};
use crate::users::model::User;

/// Issues a reset token; the platform executes this on behalf of an anonymous caller who sent the user's address.
#[derive(Debug, Clone)]
pub struct RequestReset {
    /// The user.
    pub id: Uuid,
    /// The token.
    pub token: NewToken,
}

impl Command for RequestReset {
    const ID: &'static str = "auth.user.request_reset";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Request password reset";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        one_time_token::issue(tx, self.id, &self.token).await?;
        tx.wrote_secret("resetToken");
        Ok(())
    }
}
