use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::changed::{Changed, ZoneChanged};
use crate::model::WorkingCalendar;

/// Derives the instants of an organization from their dates again, because its zone has other rules in a newer time zone database. The calendar stays as
/// it is.
#[derive(Debug, Clone)]
pub(crate) struct DeriveInstants {
    organization: Uuid,
}

impl DeriveInstants {
    /// Creates the command.
    #[must_use]
    pub(crate) const fn new(organization: Uuid) -> Self {
        Self { organization }
    }
}

impl Command for DeriveInstants {
    const ID: &'static str = "calendar.working_calendar.derive";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Derive instants with a newer time zone database";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    const CHANGES_DERIVED: bool = true;
    type Entity = WorkingCalendar;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.organization)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let organization = self.organization;
        tx.defer(ZoneChanged { organization });
        tx.defer(Changed::WorkingCalendar { organization });
        Ok(())
    }
}
