//! Visibility of entries (audit specification, section 11.1).

use backoffice_core::command::UndoToken;
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
    /// 403 for a caller without a tenant who is not a super administrator.
    pub(crate) fn new(ctx: &'a RequestContext) -> Result<Self> {
        if ctx.identity().tenant.is_nil() && !ctx.rights().is_super_admin {
            return Err(Rejection::forbidden("Forbidden").into());
        }
        Ok(Self { ctx })
    }

    /// Returns whether the caller sees entries of others.
    pub(crate) fn can_view_tenant(&self) -> bool {
        self.ctx.rights().is_super_admin || self.ctx.holds(acl::VIEW_TENANT)
    }

    /// Returns the scope in which the caller sees entries of others: the feature may be limited to other organizations.
    pub(crate) fn tenant_scope(&self) -> Option<Scope> {
        let ctx = self.ctx.for_features(&[acl::VIEW_TENANT]).ok()?;
        Some(ctx.scope().clone())
    }

    /// Returns the tenant in which a super administrator works without having selected it; the scope limits all other callers to one tenant.
    pub(crate) fn own_tenant_of_many(&self) -> Option<Uuid> {
        let scope = self.ctx.scope();
        scope.tenant.filter(|_| scope.visible_tenants == VisibleTenants::All)
    }

    /// Returns the time after which no entry can exist, in milliseconds since 1970, with a tolerance of one day for clocks that are ahead.
    pub(crate) fn horizon(&self) -> i64 {
        self.ctx.now().unix_millis() + 24 * 3600 * 1000
    }

    /// Returns whether the caller is the principal of an entry.
    pub(crate) fn is_actor(&self, kind: &str, id: Option<Uuid>) -> bool {
        let identity = self.ctx.identity();
        id.is_some() && identity.id == id && identity.kind.as_str() == kind
    }

    /// Rejects a filter by other actors for callers who see only their own entries.
    pub(crate) fn check_actors(&self, actors: Option<&[Uuid]>) -> Result<()> {
        let own = self.ctx.identity().id;
        let others = actors.unwrap_or_default().iter().any(|actor| Some(*actor) != own);
        if others && !self.can_view_tenant() {
            return Err(Rejection::missing_features(&[acl::VIEW_TENANT.id]).into());
        }
        Ok(())
    }

    /// Returns whether the caller may undo at all; only such callers receive tokens (section 11.2).
    pub(crate) fn may_undo(&self) -> bool {
        self.ctx.holds(acl::UNDO_SELF)
    }

    /// Returns the commands that the caller could undo, for own actions or for those of others: registered, undoable, and with features that the
    /// caller holds now. They are grouped by the organizations in which the caller holds these features and those of the undo itself.
    pub(crate) fn undoable_commands(&self, own: bool) -> Vec<UndoableCommands> {
        let undo = if own {
            &[acl::UNDO_SELF][..]
        } else {
            &[acl::UNDO_SELF, acl::UNDO_TENANT]
        };
        let Ok(ctx) = self.ctx.for_features(undo) else {
            return Vec::new();
        };
        let catalogue = ctx.platform().catalogue();
        let commands = ctx.platform().registry().commands();
        let mut groups: Vec<UndoableCommands> = Vec::new();
        for command in commands.filter(|command| command.undoable && (own || !command.is_personal)) {
            let features = command.features_of(own);
            let Ok(scope) = ctx.scope().for_features(features, catalogue) else {
                continue;
            };
            let same = |group: &&mut UndoableCommands| group.scope.organizations == scope.organizations;
            match groups.iter_mut().find(same) {
                Some(group) => group.ids.push(command.id),
                None => groups.push(UndoableCommands {
                    ids: vec![command.id],
                    scope,
                }),
            }
        }
        groups
    }

    /// Returns the token of an entry, if the caller could use it.
    pub(crate) fn token(&self, entry: &Undoable<'_>) -> Option<String> {
        let is_own = self.is_actor(entry.actor_kind, entry.actor_id);
        let expired = entry.expires_at.is_some_and(|until| until <= self.ctx.now());
        if entry.state != "done" || expired || !self.may_undo() || !self.could_undo(entry, is_own) {
            return None;
        }
        Some(UndoToken::stored(entry.id, entry.secret?)?.to_string())
    }

    /// Returns whether the caller holds the features that the undo requires, in the organization of the entry.
    fn could_undo(&self, entry: &Undoable<'_>, is_own: bool) -> bool {
        let held_there = |feature: &Feature| match (entry.organization, is_own) {
            (None, true) => self.ctx.holds(*feature),
            (organization, _) => self.ctx.holds_in(*feature, organization),
        };
        let Some(command) = self.ctx.platform().registry().find_command(entry.command) else {
            return false;
        };
        held_there(&acl::UNDO_SELF)
            && (is_own || (!command.is_personal && held_there(&acl::UNDO_TENANT)))
            && command.features_of(is_own).iter().all(held_there)
    }
}

/// Commands that the caller could undo in the same organizations.
#[derive(Debug)]
pub(crate) struct UndoableCommands {
    pub(crate) ids: Vec<&'static str>,
    /// Limited to these organizations.
    pub(crate) scope: Scope,
}

/// The columns of an entry that decide about its token.
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
