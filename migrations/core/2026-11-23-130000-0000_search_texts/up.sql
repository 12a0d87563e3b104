-- Searches find a part of a text through an index of its groups of three characters. Row-level security keeps such an index from being used on
-- the tables themselves, because comparing texts or arrays is not leakproof. The texts are therefore repeated in a table that the application
-- can't read. It calls app_find_texts, which returns ids of one tenant, and reads the rows as always.
create table core_search_texts (
    tenant_id uuid not null,
    -- The table and the row that have the text.
    source text not null,
    id uuid not null,
    -- The kind and the row that a search returns, such as the product of a variant.
    kind text not null,
    found_id uuid not null,
    -- The searched columns in lower case, one in each line.
    content text not null,
    primary key (tenant_id, source, id)
);
-- No policy: no role but the owner reads or writes the table, and for the owner row-level security is not forced.
alter table core_search_texts enable row level security;

-- Returns the groups of three characters of a text, as numbers that differ between tenants and kinds. Takes 62 groups at a time, because the
-- position of a character is found by counting from the start.
create function app_text_groups(tenant uuid, kind text, content text) returns bigint[]
language plpgsql immutable parallel safe
as $$
declare
    seed bigint := hashtextextended(tenant || kind, 0);
    groups bigint[] := '{}';
    part text;
begin
    for step in 0..(char_length(content) - 3) / 62 loop
        part := substr(content, 62 * step + 1, 64);
        for place in 1..char_length(part) - 2 loop
            groups := groups || hashtextextended(substr(part, place, 3), seed);
        end loop;
    end loop;
    return groups;
end
$$;

-- A short pending list keeps searches fast between two runs of vacuum.
create index core_search_texts_groups_idx on core_search_texts
    using gin (app_text_groups(tenant_id, kind, content)) with (gin_pending_list_limit = 512);

-- Returns at most so many ids of rows of this kind whose text contains the searched text in lower case, as the database or as the process
-- determines it. The caller compares the rows again. The number of rows decides on the plan: a frequent text is found sooner without the index.
create function app_find_texts(tenant uuid, searched_kind text, searched text, lowered text, most integer) returns uuid[]
language plpgsql stable
security definer
set plan_cache_mode = force_custom_plan
as $$
declare
    texts text[] := array[lower(searched), lower(lowered)];
begin
    if tenant is distinct from app_tenant_id() and not app_is_system() then
        raise exception 'texts of another tenant are not searched';
    end if;
    if texts[1] = texts[2] then
        return array(
            select t.found_id from core_search_texts t
            where t.tenant_id = tenant and t.kind = searched_kind and position(texts[1] in t.content) > 0
                and app_text_groups(t.tenant_id, t.kind, t.content) @> app_text_groups(tenant, searched_kind, texts[1])
            limit most);
    end if;
    return array(
        select t.found_id from core_search_texts t
        where t.tenant_id = tenant and t.kind = searched_kind and (
            position(texts[1] in t.content) > 0
                and app_text_groups(t.tenant_id, t.kind, t.content) @> app_text_groups(tenant, searched_kind, texts[1])
            or position(texts[2] in t.content) > 0
                and app_text_groups(t.tenant_id, t.kind, t.content) @> app_text_groups(tenant, searched_kind, texts[2]))
        limit most);
end
$$;

-- Makes the rows of a table searchable: repeats these columns of present and future rows in core_search_texts. `found_column` is the column with the
-- id that a search returns. A row with `deleted_at` has no text.
create procedure app_search_table(table_name regclass, kind text, found_column text, variadic columns text[])
language plpgsql
as $procedure$
declare
    short text := (select c.relname from pg_class c where c.oid = table_name);
    -- The function belongs to the schema of the table: the first schema of the path is the system's.
    home text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = table_name);
    -- Columns of a row, as in `new.name`.
    texts text := (select string_agg('%1$s.' || quote_ident(c), ', ') from unnest(columns) c);
    can_be_deleted boolean := exists (
        select from pg_attribute a where a.attrelid = table_name and a.attname = 'deleted_at' and not a.attisdropped);
    listed text := (
        select string_agg(quote_ident(c), ', ')
        from unnest(array[found_column] || columns || case when can_be_deleted then array['deleted_at'] else '{}' end) c);
    compared text := (select string_agg('%1$s.' || c, ', ') from unnest(string_to_array(listed, ', ')) c);
    row_of text := format('%%1$s.tenant_id, %L, %%1$s.id, %L, %%1$s.%I, lower(concat_ws(E''\n'', %s))', short, kind, found_column, texts);
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    execute format($f$
        create function %2$s.%1$I() returns trigger
        language plpgsql
        security definer
        set search_path = pg_catalog, %2$s, pg_temp
        as $t$
        begin
            if tg_op = 'DELETE' then
                delete from core_search_texts t where t.tenant_id = old.tenant_id and t.source = %3$L and t.id = old.id;
                return null;
            end if;
            -- A statement may set a column to the value that it has.
            if tg_op = 'UPDATE' and row(%6$s) is not distinct from row(%7$s) then
                return null;
            end if;
            %5$s
            insert into core_search_texts (tenant_id, source, id, kind, found_id, content) values (%4$s)
            on conflict (tenant_id, source, id) do update set found_id = excluded.found_id, content = excluded.content;
            return null;
        end
        $t$
        $f$, short || '_search', home, short, format(row_of, 'new'), case when can_be_deleted then format($t$
            if new.deleted_at is not null then
                delete from core_search_texts t where t.tenant_id = new.tenant_id and t.source = %L and t.id = new.id;
                return null;
            end if;$t$, short) end, format(compared, 'old'), format(compared, 'new'));
    execute format('create trigger %I after insert or update of %s or delete on %s for each row execute function %I()',
        short || '_search', listed, table_name, short || '_search');
    -- Row-level security of the table is forced, for the owner too.
    perform set_config('app.scope', 'system', true);
    execute format('insert into core_search_texts (tenant_id, source, id, kind, found_id, content) select %s from %s r %s',
        format(row_of, 'r'), table_name, case when can_be_deleted then 'where r.deleted_at is null' end);
    perform set_config('app.scope', scope, true);
end
$procedure$;

-- Undoes it.
create procedure app_search_table_no_more(table_name regclass)
language plpgsql
as $procedure$
declare
    short text := (select c.relname from pg_class c where c.oid = table_name);
begin
    execute format('drop trigger %I on %s', short || '_search', table_name);
    execute format('drop function %I()', short || '_search');
    delete from core_search_texts t where t.source = short;
end
$procedure$;

do $$
declare
    one record;
begin
    for one in
        select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace
            and p.proname in ('app_text_groups', 'app_find_texts', 'app_search_table', 'app_search_table_no_more')
    loop
        execute format('alter routine %s set search_path = pg_catalog, %I, pg_temp', one.name, current_schema());
    end loop;
end
$$;
