//! The operations of the runs.

use proptest::prelude::*;

/// Grants from which ACLs are built.
pub(super) const GRANTS: [&str; 13] = [
    "api_keys.create",
    "auth.users.list",
    "auth.users.edit",
    "auth.users.*",
    "auth.roles.*",
    "auth.acl.manage",
    "auth.*",
    "audit_logs.undo_self",
    "audit_logs.*",
    "directory.organizations.view",
    "directory.organizations.*",
    "directory.*",
    "*",
];

/// The initial features of every actor, so that most steps reach the comparison of rights.
pub(super) const TOOLS: [&str; 6] = [
    "api_keys.*",
    "auth.users.*",
    "auth.roles.*",
    "auth.acl.manage",
    "audit_logs.undo_self",
    "audit_logs.redo_self",
];

/// Number of lists of organizations for an ACL.
pub(super) const ORGANIZATION_LISTS: usize = 8;

/// A subset of [`GRANTS`] and one of the lists of organizations.
#[derive(Debug, Clone, Copy)]
pub(super) struct AclOf {
    grants: u16,
    /// Whether to add [`TOOLS`], so that a holder of the ACL can act.
    tools: bool,
    pub(super) organizations: usize,
}

impl AclOf {
    pub(super) fn grants(self) -> Vec<&'static str> {
        let listed = GRANTS.into_iter().enumerate();
        let chosen = listed.filter(|(position, _)| self.grants >> position & 1 == 1);
        let tools = TOOLS.into_iter().filter(|_| self.tools);
        chosen.map(|(_, grant)| grant).chain(tools).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum UserChange {
    Roles(u8),
    Password,
    Address(u8),
    Organization(usize),
    Active(bool),
}

/// One operation; positions are taken modulo the number of existing records.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operation {
    CreateRole,
    RenameRole(usize, u8),
    DeleteRole(usize),
    RoleAcl(usize, AclOf),
    UserAcl(usize, AclOf),
    RemoveUserAcl(usize),
    CreateUser {
        organization: usize,
        roles: u8,
    },
    ChangeUser(usize, UserChange),
    DeleteUser(usize),
    /// The key acts from then on. Without an organization it belongs to the whole tenant.
    CreateKey {
        organization: Option<usize>,
        roles: u8,
    },
    DeleteKey(usize),
    Undo(usize),
    Redo(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Zero is the super administrator, who acts at times, so that the other actors meet records that they could not have created.
    pub(super) actor: usize,
    pub(super) operation: Operation,
}

pub(super) fn acl() -> impl Strategy<Value = AclOf> {
    let few = prop::collection::vec(0..GRANTS.len(), 0..3);
    (few, prop::bool::weighted(0.7), 0..ORGANIZATION_LISTS).prop_map(|(chosen, tools, organizations)| AclOf {
        grants: chosen.into_iter().fold(0, |set, grant| set | 1 << grant),
        tools,
        organizations,
    })
}

fn user_change() -> impl Strategy<Value = UserChange> {
    prop_oneof![
        4 => any::<u8>().prop_map(UserChange::Roles),
        1 => Just(UserChange::Password),
        2 => (0..4_u8).prop_map(UserChange::Address),
        1 => any::<usize>().prop_map(UserChange::Organization),
        1 => any::<bool>().prop_map(UserChange::Active),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let one = any::<usize>;
    let place = prop::option::weighted(0.6, one());
    prop_oneof![
        2 => Just(Operation::CreateRole),
        1 => (one(), 0..4_u8).prop_map(|(role, name)| Operation::RenameRole(role, name)),
        2 => one().prop_map(Operation::DeleteRole),
        6 => (one(), acl()).prop_map(|(role, acl)| Operation::RoleAcl(role, acl)),
        4 => (one(), acl()).prop_map(|(user, acl)| Operation::UserAcl(user, acl)),
        2 => one().prop_map(Operation::RemoveUserAcl),
        2 => (one(), any::<u8>()).prop_map(|(organization, roles)| Operation::CreateUser { organization, roles }),
        7 => (one(), user_change()).prop_map(|(user, change)| Operation::ChangeUser(user, change)),
        2 => one().prop_map(Operation::DeleteUser),
        4 => (place, any::<u8>()).prop_map(|(organization, roles)| Operation::CreateKey { organization, roles }),
        1 => one().prop_map(Operation::DeleteKey),
        // Later entries are more likely to be the latest of their resource.
        7 => (0..5_usize).prop_map(Operation::Undo),
        4 => (0..5_usize).prop_map(Operation::Redo),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let actor = prop_oneof![1 => Just(0_usize), 6 => 1..64_usize];
    (actor, operation()).prop_map(|(actor, operation)| Step { actor, operation })
}
