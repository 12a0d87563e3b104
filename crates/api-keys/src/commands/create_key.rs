use backoffice_auth::{Acl, RoleToHold, check_assignment, find_roles};
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::identity::ActorKind;
use backoffice_core::input::{Validator, rules};
use backoffice_core::{Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, insert_into};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::{Key, KeyRoleRow};
use crate::schema::{api_keys_key_roles as links, api_keys_keys as keys};
use crate::values::{self, LONGEST_DESCRIPTION, LONGEST_NAME};
use crate::{Error, KeysConfig, NewSecret, acl};

/// Input of a new key.
#[derive(Debug, Clone)]
pub struct NewKeyInput {
    /// The tenant.
    pub tenant: Uuid,
    /// 1 to 120 characters, not counting surrounding white space.
    pub name: String,
    /// At most 1000 characters.
    pub description: Option<String>,
    /// The organization; `None` = the whole tenant.
    pub organization: Option<Uuid>,
    /// Roles by id or name.
    pub roles: Vec<String>,
    /// In the future, and not beyond `api_keys.max_ttl`; by default the expiry of the key that creates this one.
    pub expires_at: Option<Timestamp>,
}

/// Result of [`CreateKey`].
#[derive(Debug, Clone)]
pub struct KeyCreated {
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
    ancestry: Vec<Uuid>,
}

impl Creator {
    /// Returns the expiry of a key that it creates; by default its own.
    fn limit(&self, requested: Option<Timestamp>) -> Result<Option<Timestamp>> {
        match (requested, self.expires_at) {
            (Some(at), Some(latest)) if at > latest => Err(Error::OutlivesCreator { latest }.into()),
            (requested, latest) => Ok(requested.or(latest)),
        }
    }
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
    /// The organization; `None` = the whole tenant.
    pub organization: Option<Uuid>,
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
    type Output = KeyCreated;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<KeyCreated> {
        self.check_organization(tx).await?;
        let roles = find_roles(tx, &self.roles).await?;
        self.check_roles(tx, &roles).await?;
        let creator = creator(tx).await?;
        let expires_at = creator.limit(self.expires_at)?;
        check_expiry(tx.context(), expires_at)?;
        self.insert(tx, expires_at, creator.ancestry).await?;
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
                .prepared_if(held.len() == 1)
                .execute(tx.conn())
                .await
                .map_err(|error| self.role_is_deleted(error.into()))?;
        }
        Ok(KeyCreated { roles, expires_at })
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
    let (expires_at, mut ancestry) = found.ok_or_else(Rejection::unauthorized)?;
    ancestry.push(id);
    Ok(Creator { expires_at, ancestry })
}

/// Rejects a key whose expiry, by default that of its creator, exceeds `api_keys.max_ttl`.
fn check_expiry(context: &RequestContext, expires_at: Option<Timestamp>) -> Result<()> {
    let config = context.call().provided::<KeysConfig>()?;
    let mut validator = Validator::default();
    validator.accept("expiresAt", values::expiry(expires_at, context.now(), config.max_ttl));
    validator.check()
}

/// The fields of a new key that can be validated without its tenant, organization and roles.
pub(crate) struct KeyFields {
    name: String,
    description: Option<String>,
    expires_at: Option<Timestamp>,
}

impl KeyFields {
    /// Validates the fields and trims the texts; 400 with all invalid ones.
    pub(crate) fn new(
        context: &RequestContext,
        name: &str,
        description: Option<&String>,
        expires_at: Option<Timestamp>,
    ) -> Result<Self> {
        let config = context.call().provided::<KeysConfig>()?;
        // Without an expiry, a key that is created by a key ends with its creator, which only the command reads.
        let may_inherit = expires_at.is_none() && context.identity().kind == ActorKind::ApiKey;
        let max_ttl = config.max_ttl.filter(|_| !may_inherit);
        let mut validator = Validator::default();
        let (name, description) = name_and_description(name, description, &mut validator);
        validator.accept("expiresAt", values::expiry(expires_at, context.now(), max_ttl));
        validator.check()?;
        Ok(Self {
            name,
            description,
            expires_at,
        })
    }
}

/// Validates and trims the texts of a key.
pub(crate) fn name_and_description(
    name: &str,
    description: Option<&String>,
    validator: &mut Validator,
) -> (String, Option<String>) {
    let (mut trimmed, mut text) = (String::new(), None);
    validator.text("name", &name.to_owned().into(), &mut trimmed, rules::line(LONGEST_NAME));
    let description = description.map_or(Patch::Clear, |text| Patch::Set(text.clone()));
    validator.optional_text("description", &description, &mut text, rules::text(LONGEST_DESCRIPTION));
    (trimmed, text)
}

impl CreateKey {
    /// Validates the input and draws the secret.
    ///
    /// # Errors
    /// 400 with the invalid fields.
    pub fn new(context: &RequestContext, requested: NewKeyInput) -> Result<Self> {
        let description = requested.description.as_ref();
        let fields = KeyFields::new(context, &requested.name, description, requested.expires_at)?;
        Ok(Self {
            id: context.new_id(),
            tenant: requested.tenant,
            name: fields.name,
            description: fields.description,
            organization: requested.organization,
            roles: requested.roles,
            expires_at: fields.expires_at,
            secret: NewSecret::draw(context.ids()),
        })
    }

    /// Rejects an organization outside of the caller's scope, and a key of the whole tenant if that scope is not the whole tenant.
    async fn check_organization(&self, tx: &mut Tx<'_>) -> Result<()> {
        match self.organization {
            Some(id) => Placement::lock(tx, id).await,
            None if tx.scope().organizations.is_none() => Ok(()),
            None => Err(Rejection::organization_out_of_scope().into()),
        }
    }

    /// Rejects roles that grant more than the caller holds.
    async fn check_roles(&self, tx: &mut Tx<'_>, roles: &[RoleToHold]) -> Result<()> {
        if roles.iter().any(|role| role.acl.is_super_admin) {
            return Err(Error::SuperAdminRole.into());
        }
        for role in roles {
            let granted = match self.organization {
                None => role.acl.clone(),
                // The key is confined to its organization, whatever the role grants.
                Some(id) => Acl {
                    organizations: Some(vec![id]),
                    ..role.acl.clone()
                },
            };
            check_assignment(tx, &granted)?;
        }
        Ok(())
    }

    async fn insert(&self, tx: &mut Tx<'_>, expires_at: Option<Timestamp>, ancestry: Vec<Uuid>) -> Result<()> {
        let (now, creator) = (tx.now(), tx.context().identity());
        insert_into(keys::table)
            .values((
                keys::tenant_id.eq(self.tenant),
                keys::id.eq(self.id),
                keys::name.eq(&self.name),
                keys::description.eq(&self.description),
                keys::organization_id.eq(self.organization),
                keys::key_prefix.eq(&self.secret.prefix),
                keys::key_hash.eq(self.secret.hash.as_slice()),
                keys::expires_at.eq(expires_at),
                keys::creator_keys.eq(ancestry),
                keys::created_by_kind.eq(creator.kind.as_str()),
                keys::created_by_id.eq(creator.id),
                keys::created_at.eq(now),
                keys::updated_at.eq(now),
            ))
            .prepared()
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
