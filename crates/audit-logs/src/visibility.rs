//! Who sees which entries (audit specification, section 11.1).

use backoffice_core::command::{CommandInfo, UndoToken};
use backoffice_core::{Feature, Rejection, RequestContext, Result, Scope, Timestamp, VisibleTenants};
use uuid::Uuid;

use crate::acl;

/// The caller, as a reader of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer<'a> {
    pub(crate) ctx: &'a RequestContext,
}

impl<'a> Viewer<'a> {
    /// # Errors
    /// 403 for a caller without a tenant that is no super administrator.
    pub(crate) fn new(ctx: &'a RequestContext) -> Result<Self> {
        if ctx.identity().tenant.is_nil() && !ctx.rights().is_super_admin {
            return Err(Rejection::forbidden("Forbidden").into());
        }
        Ok(Self { ctx })
    }

    /// Whether entries of others are seen.
    pub(crate) fn can_view_tenant(&self) -> bool {
        self.ctx.rights().is_super_admin || self.ctx.holds(acl::VIEW_TENANT)
    }

    /// Where entries of others are seen: the right to see them has organizations of its own.
    pub(crate) fn tenant_scope(&self) -> Option<Scope> {
        let ctx = self.ctx.for_features(&[acl::VIEW_TENANT]).ok()?;
        Some(ctx.scope().clone())
    }

    /// The one tenant that a super administrator works in without having selected it; everybody else is narrowed by the scope.
    pub(crate) fn own_tenant_of_many(&self) -> Option<Uuid> {
        let scope = self.ctx.scope();
        scope.tenant.filter(|_| scope.visible_tenants == VisibleTenants::All)
    }

    /// From when on there can't be an entry yet, in milliseconds since 1970, with a day for clocks that are ahead of this one.
    pub(crate) fn horizon(&self) -> i64 {
        self.ctx.now().unix_millis() + 24 * 3600 * 1000
    }

    /// Whether the principal of an entry is the caller.
    pub(crate) fn is_actor(&self, kind: &str, id: Option<Uuid>) -> bool {
        let identity = self.ctx.identity();
        id.is_some() && identity.id == id && identity.kind.as_str() == kind
    }

    /// Refuses a filter by other people for callers who see only themselves.
    pub(crate) fn check_actors(&self, actors: Option<&[Uuid]>) -> Result<()> {
        let own = self.ctx.identity().id;
        let others = actors.unwrap_or_default().iter().any(|actor| Some(*actor) != own);
        if others && !self.can_view_tenant() {
            return Err(Rejection::missing_features(&[acl::VIEW_TENANT.id]).into());
        }
        Ok(())
    }

    /// Whether the caller may undo at all; 11.2 shows tokens to nobody else.
    pub(crate) fn may_undo(&self) -> bool {
        self.ctx.holds(acl::UNDO_SELF)
    }

    /// Where the caller may undo what others did.
    pub(crate) fn others_scope(&self) -> Option<Scope> {
        let ctx = self.ctx.for_features(&[acl::UNDO_SELF, acl::UNDO_TENANT]).ok()?;
        Some(ctx.scope().clone())
    }

    /// The commands that the caller could undo where it, or somebody else, ran them: still registered, undoable, and with features that it
    /// holds now.
    pub(crate) fn undoable_commands(&self, own: bool) -> Vec<&'static str> {
        let holds = |command: &&CommandInfo| {
            let mut features = command.features_of(own).iter();
            features.all(|feature| self.ctx.holds(*feature))
        };
        let commands = self.ctx.platform().registry().commands();
        commands
            .filter(|command| command.undoable)
            .filter(holds)
            .map(|command| command.id)
            .collect()
    }

    /// The token of an entry, for whoever could use it.
    pub(crate) fn token(&self, entry: &Undoable<'_>) -> Option<String> {
        let is_own = self.is_actor(entry.actor_kind, entry.actor_id);
        let expired = entry.expires_at.is_some_and(|until| until <= self.ctx.now());
        if entry.state != "done" || expired || !self.may_undo() || !self.could_undo(entry, is_own) {
            return None;
        }
        Some(UndoToken::stored(entry.id, entry.secret?)?.to_string())
    }

    /// Whether the caller's rights where the entry is are those that its undo asks for.
    fn could_undo(&self, entry: &Undoable<'_>, is_own: bool) -> bool {
        let held_there = |feature: &Feature| match (entry.organization, is_own) {
            (None, true) => self.ctx.holds(*feature),
            (organization, _) => self.ctx.holds_in(*feature, organization),
        };
        let Some(command) = self.ctx.platform().registry().find_command(entry.command) else {
            return false;
        };
        held_there(&acl::UNDO_SELF)
            && (is_own || held_there(&acl::UNDO_TENANT))
            && command.features_of(is_own).iter().all(held_there)
    }
}

/// What of an entry decides about its token.
#[derive(Debug)]
pub(crate) struct Undoable<'a> {
    pub(crate) id: Uuid,
    pub(crate) actor_kind: &'a str,
    pub(crate) actor_id: Option<Uuid>,
    pub(crate) state: &'a str,
    pub(crate) secret: Option<&'a [u8]>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) command: &'a str,
    pub(crate) organization: Option<Uuid>,
}
