-- What a job does at once, and when those who watch it were last told: both outlive the claim.
alter table core_jobs
    add column chunk_items smallint not null default 100,
    add column noticed_at timestamptz(3),
    add constraint core_jobs_chunk_items_check check (chunk_items between 1 and 100);
