use backoffice_auth::{Acl, RoleToHold, check_assignment, find_roles};
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::identity::ActorKind;
use backoffice_core::{Feature, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, insert_into};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::{Key, KeyRoleRow};
use crate::schema::{api_keys_key_roles as links, api_keys_keys as keys};
use crate::{Error, KeysConfig, NewSecret, acl, values};

/// Where a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An organization and its descendants.
    Organization(Uuid),
    /// The whole tenant.
    Tenant,
}

impl Place {
    /// Returns the organization, if the key belongs to one.
    #[must_use]
    pub fn organization(self) -> Option<Uuid> {
        match self {
            Self::Organization(id) => Some(id),
            Self::Tenant => None,
        }
    }
}

/// Input of a new key.
#[derive(Debug, Clone)]
pub struct NewKeyInput {
    /// The tenant.
    pub tenant: Uuid,
    /// 1 to 120 characters, not counting surrounding white space.
    pub name: String,
    /// At most 1000 characters.
    pub description: Option<String>,
    /// Where the key belongs.
    pub place: Place,
    /// Roles by id or name.
    pub roles: Vec<String>,
    /// In the future, and not beyond `api_keys.max_ttl`.
    pub expires_at: Option<Timestamp>,
}

/// Result of [`CreateKey`].
#[derive(Debug, Clone)]
pub struct KeyGot {
    /// The assigned roles.
    pub roles: Vec<RoleToHold>,
    /// Time of expiry: never later than that of the key that created this one.
    pub expires_at: Option<Timestamp>,
}

/// The key that creates another one.
#[derive(Default)]
struct Creator {
    expires_at: Option<Timestamp>,
    /// This key and its ancestors: the keys that created it.
    line: Vec<Uuid>,
}

/// Creates a key.
#[derive(Debug, Clone)]
pub struct CreateKey {
    /// The id.
    pub id: Uuid,
    /// The tenant.
    pub tenant: Uuid,
    /// The name, trimmed.
    pub name: String,
    /// The purpose of the key.
    pub description: Option<String>,
    /// Where the key belongs.
    pub place: Place,
    /// Roles by id or name.
    pub roles: Vec<String>,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
    /// The key itself.
    pub secret: NewSecret,
}

impl Command for CreateKey {
    const ID: &'static str = "api_keys.key.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create API key";
    const FEATURES: &'static [Feature] = &[acl::CREATE];
    const UNDOABLE: bool = false;
    type Entity = Key;
    type Output = KeyGot;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<KeyGot> {
        self.check_place(tx).await?;
        let roles = find_roles(tx, &self.roles).await?;
        self.check_roles(tx, &roles).await?;
        let creator = creator(tx).await?;
        values::check_end(self.expires_at, creator.expires_at)?;
        let expires_at = self.expires_at.or(creator.expires_at);
        self.insert(tx, expires_at, creator.line).await?;
        tx.wrote_secret("keyHash");
        let now = tx.now();
        let held: Vec<KeyRoleRow> = roles
            .iter()
            .map(|role| KeyRoleRow {
                tenant_id: self.tenant,
                id: tx.new_id(),
                key_id: self.id,
                role_tenant_id: role.tenant_id,
                role_id: role.id,
                created_at: now,
                updated_at: now,
            })
            .collect();
        if !held.is_empty() {
            insert_into(links::table)
                .values(&held)
                .execute(tx.conn())
                .await
                .map_err(|error| self.role_is_deleted(error.into()))?;
        }
        Ok(KeyGot { roles, expires_at })
    }
}

/// Returns the caller, if it is a key. Locks its row until the end of the transaction: a deletion of the caller then finds the new key.
async fn creator(tx: &mut Tx<'_>) -> Result<Creator> {
    let identity = tx.context().identity();
    let (ActorKind::ApiKey, Some(id)) = (identity.kind, identity.id) else {
        return Ok(Creator::default());
    };
    let found: Option<(Option<Timestamp>, Vec<Uuid>)> = keys::table
        .filter(keys::tenant_id.eq(identity.tenant))
        .filter(keys::id.eq(id))
        .filter(keys::deleted_at.is_null())
        .select((keys::expires_at, keys::creator_keys))
        .for_share()
        .first(tx.conn())
        .await
        .optional()?;
    let (expires_at, mut line) = found.ok_or_else(Rejection::unauthorized)?;
    line.push(id);
    Ok(Creator { expires_at, line })
}

impl CreateKey {
    /// Validates the input and draws the secret.
    ///
    /// # Errors
    /// 400 with the invalid fields.
    pub fn new(context: &RequestContext, requested: NewKeyInput) -> Result<Self> {
        let name = values::checked_name(&requested.name)?;
        let description = values::checked_description(requested.description.as_deref())?;
        let config = context.call().provided::<KeysConfig>()?;
        values::check_expiry(requested.expires_at, context.now(), config.max_ttl)?;
        Ok(Self {
            id: context.new_id(),
            tenant: requested.tenant,
            name,
            description,
            place: requested.place,
            roles: requested.roles,
            expires_at: requested.expires_at,
            secret: NewSecret::draw(context.ids()),
        })
    }

    async fn check_place(&self, tx: &mut Tx<'_>) -> Result<()> {
        let is_allowed = match self.place {
            Place::Organization(id) => tx.keep_organization(id).await?,
            // Only callers whose scope is the whole tenant create keys of the whole tenant.
            Place::Tenant => tx.scope().organizations.is_none(),
        };
        if is_allowed {
            Ok(())
        } else {
            Err(Error::OrganizationOutOfScope.into())
        }
    }

    /// Rejects roles that grant more than the caller holds.
    async fn check_roles(&self, tx: &mut Tx<'_>, roles: &[RoleToHold]) -> Result<()> {
        if roles.iter().any(|role| role.acl.is_super_admin) {
            return Err(Error::SuperAdminRole.into());
        }
        for role in roles {
            let granted = match self.place {
                Place::Tenant => role.acl.clone(),
                // The key is confined to its organization, whatever the role grants.
                Place::Organization(id) => Acl {
                    organizations: Some(vec![id]),
                    ..role.acl.clone()
                },
            };
            check_assignment(tx, &granted)?;
        }
        Ok(())
    }

    async fn insert(&self, tx: &mut Tx<'_>, expires_at: Option<Timestamp>, line: Vec<Uuid>) -> Result<()> {
        let (now, creator) = (tx.now(), tx.context().identity());
        insert_into(keys::table)
            .values((
                keys::tenant_id.eq(self.tenant),
                keys::id.eq(self.id),
                keys::name.eq(&self.name),
                keys::description.eq(&self.description),
                keys::organization_id.eq(self.place.organization()),
                keys::key_prefix.eq(&self.secret.prefix),
                keys::key_hash.eq(self.secret.hash.as_slice()),
                keys::expires_at.eq(expires_at),
                keys::creator_keys.eq(line),
                keys::created_by_kind.eq(creator.kind.as_str()),
                keys::created_by_id.eq(creator.id),
                keys::created_at.eq(now),
                keys::updated_at.eq(now),
            ))
            .execute(tx.conn())
            .await
            .map_err(|error| prefix_is_taken(error.into()))?;
        Ok(())
    }

    /// A role can be deleted while a key that is to hold it is created.
    fn role_is_deleted(&self, error: backoffice_core::Error) -> backoffice_core::Error {
        match error.violated_constraint() {
            Some("api_keys_key_roles_role_tenant_id_role_id_fkey") => {
                backoffice_auth::Error::RolesNotFound(self.roles.clone()).into()
            }
            _ => error,
        }
    }
}

fn prefix_is_taken(error: backoffice_core::Error) -> backoffice_core::Error {
    match error.violated_constraint() {
        Some("api_keys_keys_tenant_id_key_prefix_key") => Error::PrefixTaken.into(),
        _ => error,
    }
}
