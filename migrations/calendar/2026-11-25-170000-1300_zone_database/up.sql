-- The version of the time zone database with which the stored instants were derived from dates. One row of the platform; without it, the version is
-- not known.
create table calendar_zone_databases (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    version text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id)
);
call app_secure_table('calendar_zone_databases');
