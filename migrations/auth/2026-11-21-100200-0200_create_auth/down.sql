drop table auth_revocations;
drop table auth_sessions;
drop table auth_default_grants;
drop table auth_user_acls;
drop table auth_role_acls;
drop table auth_user_roles;
drop table auth_roles;
drop table auth_users;
