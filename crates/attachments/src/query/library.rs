//! Reads of the library: all files of a tenant.

use backoffice_core::db::{KeyColumn, Prepared, Recurring};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{count_star, exists, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, PgTextExpressionMethods, QueryDsl, QueryResult, QueryableByName,
    SelectableHelper, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use super::attachments::{Listed, in_scope, listed};
use super::partitions::{visible, with_code};
use crate::hosts::{self, Restricted};
use crate::model::{ATTACHMENT, Attachment, Partition};
use crate::schema::{attachments_attachments as attachments, attachments_tags as tags};

impl Sortable for Attachment {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "attachments_attachments.created_at"),
        SortField::new("fileName", "attachments_attachments.file_name"),
        SortField::new("fileSize", "attachments_attachments.file_size"),
    ];
    const PAGE_SIZE: u32 = 25;
}

/// The files of a record, whose list has longer pages.
#[derive(Debug, Clone, Copy)]
pub struct FilesOfRecord;

impl Sortable for FilesOfRecord {
    const SORT_FIELDS: &'static [SortField] = Attachment::SORT_FIELDS;
    const PAGE_SIZE: u32 = 100;
}

/// Filters of the library: a file must match every field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryFilter {
    /// Code of the partition, regardless of case.
    pub partition: Option<String>,
    /// Tags that a file must have, all of them, each once; without any, no file matches.
    pub tags: Option<Vec<String>>,
    /// Kind of the record.
    pub entity_id: Option<String>,
    /// Id of the record.
    pub record_id: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// Beginning of the media type: `image/`.
    pub mime_prefix: Option<String>,
    /// Uploaded at this time or later.
    pub created_from: Option<Timestamp>,
    /// Uploaded at this time or earlier.
    pub created_to: Option<Timestamp>,
}

/// A page of the library.
#[derive(Debug)]
pub struct Library {
    /// The files.
    pub files: Page<Listed>,
    /// The tags in use, sorted.
    pub available_tags: Vec<String>,
    /// The partitions that the caller's tenant may use, the oldest first.
    pub partitions: Vec<ShownPartition>,
}

type Filtered<'a> = attachments::BoxedQuery<'a, Pg>;

/// Returns the files that the caller may see.
fn shown<'a>(scope: &Scope, restricted: &[Restricted]) -> Filtered<'a> {
    let mut query = in_scope(scope).into_boxed();
    for Restricted { kind, visible_in } in restricted {
        let is_visible = attachments::organization_id.eq_any(visible_in.clone());
        query = query.filter(attachments::entity_id.ne(*kind).or(is_visible));
    }
    query
}

/// Most tags that are looked up for each file. PostgreSQL plans each execution, and each further look-up multiplies its time for that.
const MOST_LOOK_UPS: usize = 5;

/// Limits the query to files that have all of these tags; without any, no file matches.
fn tagged<'a>(mut query: Filtered<'a>, scope: &Scope, required: &[String]) -> Filtered<'a> {
    if required.is_empty() || required.len() > MOST_LOOK_UPS {
        let tagged = tags::table
            .filter(scope.owns(tags::tenant_id))
            .filter(tags::tag.eq_any(required.to_vec()))
            .group_by(tags::attachment_id)
            .having(count_star().eq(i64::try_from(required.len()).unwrap_or(i64::MAX)))
            .select(tags::attachment_id);
        return query.filter(attachments::id.eq_any(tagged));
    }
    for tag in required {
        let has_tag = tags::table
            .filter(scope.owns(tags::tenant_id))
            .filter(tags::tenant_id.eq(attachments::tenant_id))
            .filter(tags::attachment_id.eq(attachments::id))
            // An array, so that each tag is planned for its frequency: the files of a frequent one are found sooner in the order of the list.
            .filter(tags::tag.eq_any([tag.clone()]));
        query = query.filter(exists(has_tag));
    }
    query
}

/// Returns the matching files; `partition` is the one that the filter names.
fn matching<'a>(
    scope: &Scope,
    restricted: &[Restricted],
    filter: &LibraryFilter,
    partition: Option<&Partition>,
    request: &ListRequest,
) -> Filtered<'a> {
    let mut query = shown(scope, restricted);
    if let Some(partition) = partition {
        query = query
            .filter(attachments::partition_tenant_id.eq(partition.tenant_id))
            .filter(attachments::partition_id.eq(partition.id));
    }
    if let Some(required) = &filter.tags {
        query = tagged(query, scope, required);
    }
    if let Some(entity) = &filter.entity_id {
        query = query.filter(attachments::entity_id.eq(entity.clone()));
    }
    if let Some(record) = &filter.record_id {
        query = query.filter(attachments::record_id.eq(record.clone()));
    }
    if let Some(kind) = &filter.mime_type {
        query = query.filter(attachments::mime_type.eq(kind.clone()));
    }
    if let Some(prefix) = &filter.mime_prefix {
        query = query.filter(
            sql::<Bool>("starts_with(mime_type, ")
                .bind::<Text, _>(prefix.clone())
                .sql(")"),
        );
    }
    if let Some(from) = filter.created_from {
        query = query.filter(attachments::created_at.ge(from));
    }
    if let Some(to) = filter.created_to {
        query = query.filter(attachments::created_at.le(to));
    }
    if let Some(pattern) = &request.pattern {
        query = query.filter(attachments::file_name.ilike(pattern.clone()));
    }
    for ids in [&request.ids, &request.found].into_iter().flatten() {
        query = query.filter(attachments::id.one_of(ids.clone()));
    }
    query
}

/// Returns a page of the library, the tags in use and the partitions: two statements, one more for a total that is not known yet, and before them one for a search and one
/// for a filter by a partition.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &LibraryFilter,
    request: &ListRequest,
) -> Result<Library> {
    ctx.read_version_first(connection).await?;
    let others = async { Ok(tags_and_partitions(connection, ctx).await?) };
    let ((available_tags, partitions), files) = try_join(others, page(connection, ctx, filter, request)).await?;
    Ok(Library {
        files,
        available_tags,
        partitions,
    })
}

/// Returns a page of files: one statement, one more for a total that is not known yet, and before them one for a search and one for a filter by a partition.
///
/// # Errors
/// When the database can't be reached.
pub async fn page(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &LibraryFilter,
    request: &ListRequest,
) -> Result<Page<Listed>> {
    let (scope, window) = (ctx.scope(), request.window);
    // Names are stored in NFC; a search may come in another form.
    let request = ListRequest {
        pattern: request.pattern.as_deref().map(|pattern| pattern.nfc().collect()),
        ..request.clone()
    };
    let request = request.find_texts(ctx, connection, ATTACHMENT).await?;
    let partition = match &filter.partition {
        None => None,
        Some(code) => match with_code(&visible(connection, scope).await?, code) {
            None => return Ok(window.page(Vec::new(), 0)),
            found => found.cloned(),
        },
    };
    let restricted = hosts::restricted(ctx);
    let matching = || matching(scope, &restricted, filter, partition.as_ref(), &request);
    let keys = request.order.then("attachments_attachments.id");
    let rows = async |start: Start| {
        let page = start.of::<attachments::table, _>(matching()).order(keys.expression());
        start.limited(page.select(listed!())).load(&mut &*connection).await
    };
    let is_filtered = *filter != LibraryFilter::default() || request.pattern.is_some() || request.ids.is_some();
    let total = || async {
        if !is_filtered {
            return count(connection, ctx).await;
        }
        matching().select(count_star()).get_result(&mut &*connection).await
    };
    let id = |listed: &Listed| (listed.row.tenant_id, listed.row.id);
    window.fetch_from(ctx, connection, keys, id, rows, total).await
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    files: i64,
}

/// Returns the number of files that the caller may see: from the counters of the organizations, or of the rows if files of some kinds of records are
/// left out.
pub(crate) async fn count(connection: &AsyncPgConnection, ctx: &RequestContext) -> QueryResult<i64> {
    let (scope, restricted) = (ctx.scope(), hosts::restricted(ctx));
    if !restricted.is_empty() {
        let files = shown(scope, &restricted).select(count_star());
        return files.prepared().get_result(&mut &*connection).await;
    }
    let statement = sql_query(
        "select coalesce(sum(file_count), 0)::bigint as files from attachments_counts \
         where ($1::uuid is null or tenant_id = $1) and ($2::uuid[] is null or id = any($2))",
    )
    .bind::<Nullable<SqlUuid>, _>(scope.tenant)
    .bind::<Nullable<Array<SqlUuid>>, _>(scope.organizations.clone());
    let counted: Counted = statement.prepared().get_result(&mut &*connection).await?;
    Ok(counted.files)
}

/// A tag in use, or a partition.
#[derive(QueryableByName)]
struct TagOrPartition {
    #[diesel(sql_type = Nullable<Text>)]
    tag: Option<String>,
    #[diesel(sql_type = Text)]
    code: String,
    #[diesel(sql_type = Text)]
    title: String,
    #[diesel(sql_type = Nullable<Text>)]
    description: Option<String>,
    #[diesel(sql_type = Bool)]
    is_public: bool,
}

/// A partition that files of the library may be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPartition {
    /// The code.
    pub code: String,
    /// The title.
    pub title: String,
    /// The description.
    pub description: Option<String>,
    /// Whether everybody may read its files.
    pub is_public: bool,
}

/// Most tags of `availableTags`.
const MOST_TAGS: i64 = 500;
/// Most organizations of a caller for which the index is asked tag by tag.
const MOST_PROBED: usize = 50;

/// Reads the tags `used` and then the partitions of the tenant `$1` and of the platform `$2`.
macro_rules! and_partitions {
    ($($used:tt)*) => {
        concat!(
            $($used)*,
            ",
own as (select p.* from attachments_partitions p where p.tenant_id in ($1, $2) order by p.created_at, p.id)
select u.tag, '' as code, '' as title, null as description, false as is_public from used u
union all
select null, o.code, o.title, o.description, o.is_public from own o"
        )
    };
}

/// The tags `every` of the tenant, numbered: goes from one to the next in the index, whatever number of files have it. A limit ends the walk.
macro_rules! walked_and_partitions {
    ($($used:tt)*) => {
        and_partitions!(
            "\
with recursive every (tag, number) as (
    (select t.tag, 1 from attachments_tags t where t.tenant_id = $1 order by t.tag limit 1)
    union all
    select (select t.tag from attachments_tags t where t.tenant_id = $1 and t.tag > e.tag order by t.tag limit 1), e.number + 1
    from every e where e.tag is not null
),
",
            $($used)*
        )
    };
}

/// The tags of all files.
const TAGS_AND_PARTITIONS: &str =
    walked_and_partitions!("used as (select e.tag from every e where e.tag is not null limit $3)");

/// Reads each tag of each file once. The organizations `$4` are a sub-query, because PostgreSQL hashes them then; it would search an array from its
/// beginning for each row. With `is true` it is no join: PostgreSQL expects few organizations, and would compare each row with each of them.
macro_rules! read {
    ($condition:literal) => {
        concat!(
            "\
    select distinct t.tag from attachments_tags t
    where t.tenant_id = $1 and (t.organization_id in (select unnest($4::uuid[]))) is true",
            $condition,
            " order by t.tag limit $3"
        )
    };
}

/// The tags of the files of the organizations `$4`.
const TAGS_OF_ORGANIZATIONS_AND_PARTITIONS: &str = and_partitions!("with used as (\n", read!(""), "\n)");

/// The tags of the files of a few organizations `$4`. Asks the index for each tag of the tenant whether a file of theirs has it, if the tenant has fewer
/// than 1000 tags. With `is true` this is no join, so the tags keep their order.
const TAGS_OF_FEW_ORGANIZATIONS_AND_PARTITIONS: &str = walked_and_partitions!(
    "\
first as materialized (select e.tag, e.number from every e limit 1001),
used as (
    (select f.tag from first f where (select count(*) from first) <= 1000 and f.tag is not null and (exists (
        select from attachments_tags t where t.tenant_id = $1 and t.tag = f.tag and t.organization_id = any($4::uuid[]))) is true
    order by f.number limit $3)
    union all
    (",
    read!(" and (select count(*) from first) > 1000"),
    ")
)"
);

/// Returns the tags of the files that the caller may see, sorted, at most 500, and the partitions. If files of some kinds of records are left out, or all
/// tenants are selected, the tags of all files are read.
async fn tags_and_partitions(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
) -> QueryResult<(Vec<String>, Vec<ShownPartition>)> {
    let (scope, restricted) = (ctx.scope(), hosts::restricted(ctx));
    let shown_partition = |partition: Partition| ShownPartition {
        code: partition.code,
        title: partition.title,
        description: partition.description,
        is_public: partition.is_public,
    };
    let Some(tenant) = scope.tenant.filter(|_| restricted.is_empty()) else {
        let tagged = tags::table
            .filter(scope.owns(tags::tenant_id))
            .filter(scope.within(tags::organization_id))
            .into_boxed();
        let tagged = match restricted.is_empty() {
            true => tagged,
            false => tagged.filter(tags::attachment_id.eq_any(shown(scope, &restricted).select(attachments::id))),
        };
        let distinct = tagged.select(tags::tag).distinct().order(tags::tag).limit(MOST_TAGS);
        let tags = distinct.load(&mut &*connection);
        let (tags, partitions) = try_join(tags, visible(connection, scope)).await?;
        return Ok((tags, partitions.into_iter().map(shown_partition).collect()));
    };
    let text = match scope.organizations.as_ref().map(Vec::len) {
        None => TAGS_AND_PARTITIONS,
        Some(..=MOST_PROBED) => TAGS_OF_FEW_ORGANIZATIONS_AND_PARTITIONS,
        Some(_) => TAGS_OF_ORGANIZATIONS_AND_PARTITIONS,
    };
    let mut statement = sql_query(text)
        .into_boxed::<Pg>()
        .bind::<SqlUuid, Uuid>(tenant)
        .bind::<SqlUuid, _>(PLATFORM_TENANT)
        .bind::<BigInt, _>(MOST_TAGS);
    if let Some(organizations) = &scope.organizations {
        statement = statement.bind::<Array<SqlUuid>, _>(organizations.clone());
    }
    let rows: Vec<TagOrPartition> = Prepared(statement).load(&mut &*connection).await?;
    let (mut tags, mut partitions) = (Vec::new(), Vec::new());
    for row in rows {
        match row.tag {
            Some(tag) => tags.push(tag),
            None => partitions.push(ShownPartition {
                code: row.code,
                title: row.title,
                description: row.description,
                is_public: row.is_public,
            }),
        }
    }
    Ok((tags, partitions))
}
