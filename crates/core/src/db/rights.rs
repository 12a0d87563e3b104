//! The rights of the application's role in the database, and the rights that no role may have.

use tokio_postgres::Client;

use crate::error::Result;

/// Functions that run with the owner's rights and that the application calls. It may call no others of this kind.
const CALLED: &str = "'app_find_texts', 'app_own_push_token', 'app_make_months', 'app_drop_months', \
    'audit_erase_resources', 'audit_forget_counts', 'audit_count_entries'";

/// Returns the SQL that sets the rights, in one transaction: a serving process finds either the earlier rights or these. The application may read
/// and write rows, owns nothing, and changes in the logs only the columns that undo and redo change. It has no rights on partitions, which it reads and
/// writes through their tables. Rights on tables that it or `public` was granted by hand are revoked; those of other roles stay. It may call functions
/// that run with its own rights, and those of the list; other roles may call none. Only the owner may create objects in the schema, or temporary tables,
/// as far as the owner may revoke these rights; [`open_rights`] reports the remaining ones.
pub(super) fn grants(role: &str) -> String {
    // It is written inside a literal that `format` of PostgreSQL reads.
    let role = role.replace('"', "\"\"").replace('\'', "''").replace('%', "%%");
    let role = format!("\"{role}\"");
    format!(
        r"
do $$
declare
    one record;
begin
    execute format('grant usage on schema %I to {role}', current_schema());
    for one in
        select c.oid::regclass as name, c.relname, c.relispartition
        from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and (
            not c.relispartition or c.relacl is not null
            or exists (select from pg_attribute a where a.attrelid = c.oid and a.attacl is not null))
    loop
        -- What was granted by hand, on columns too.
        execute format('revoke all on %s from public, {role}', one.name);
        if one.relispartition then
            continue;
        elsif one.relname in ('__diesel_schema_migrations', 'core_monthly_tables') then
            execute format('grant select on %s to {role}', one.name);
        elsif one.relname = 'audit_action_logs' then
            execute format('grant select, insert on %s to {role}', one.name);
            execute format(
                'grant update (execution_state, undo_secret, undone_seq, updated_at) on %s to {role}', one.name);
        elsif one.relname = 'core_search_texts' then
            -- Only through app_find_texts.
            continue;
        elsif one.relname = 'audit_access_logs' then
            execute format('grant select, insert on %s to {role}', one.name);
        else
            execute format('grant select, insert, update, delete on %s to {role}', one.name);
        end if;
    end loop;
    for one in
        select p.oid::regprocedure as name, p.prosecdef, p.proname, p.prokind
        from pg_proc p
        where p.pronamespace = current_schema()::regnamespace and pg_has_role(p.proowner, 'usage')
            and not exists (
                select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    loop
        execute format('revoke all on routine %s from public, {role}', one.name);
        if one.proname in ({CALLED}) or (one.prokind = 'f' and not one.prosecdef) then
            execute format('grant execute on function %s to {role}', one.name);
        end if;
    end loop;
    begin
        execute format('revoke create on schema %I from public, {role}', current_schema());
    exception when insufficient_privilege then
        raise notice 'the right to create in the schema was left to public';
    end;
    begin
        execute format('revoke create, temporary on database %I from public, {role}', current_database());
    exception when insufficient_privilege then
        raise notice 'the right to create temporary tables was left to public';
    end;
end
$$;
"
    )
}

/// Returns SQL that revokes from all roles the right to create temporary tables in a database. For its owner or a superuser; [`super::migrate`]
/// does it too, but a copy of a database does not inherit it.
#[must_use]
pub fn close_database(name: &str) -> String {
    format!(
        "revoke create, temporary on database \"{}\" from public",
        name.replace('"', "\"\"")
    )
}

/// Returns the rights of this connection's role that the application does not need, each with a way to revoke it.
///
/// # Errors
/// When the database can't be reached.
pub async fn open_rights(client: &Client) -> Result<Vec<String>> {
    let row = client
        .query_one(
            "select has_database_privilege(current_database(), 'temporary'), has_schema_privilege(current_schema(), 'create'), \
                 current_database()::text, current_schema()::text, coalesce((select r.rolname::text from pg_class c join pg_roles r on r.oid = c.relowner \
                     where c.oid = to_regclass('audit_action_logs') and (r.rolcreaterole or r.rolsuper)), '')",
            &[],
        )
        .await?;
    let (temporary, create): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    let (database, schema, owner): (String, String, String) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
    let mut open = Vec::new();
    if temporary {
        open.push(format!(
            "the application's role may create temporary tables; as the owner of the database run `revoke temporary on database \"{database}\" from public`"
        ));
    }
    if create {
        open.push(format!(
            "the application's role may create tables and functions; as the owner of the schema run `revoke create on schema \"{schema}\" from public`"
        ));
    }
    if !owner.is_empty() {
        open.push(format!(
            "the owner of the schema, {owner}, may create roles; as an administrator of the server run `alter role \"{owner}\" nosuperuser nocreaterole`"
        ));
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_role_is_quoted_as_an_identifier_in_a_format() {
        let sql = grants("o'neil \"1%\"");

        assert!(sql.contains(r#"to "o''neil ""1%%"""', current_schema()"#), "{sql}");
    }
}
