alter table core_jobs
    drop column chunk_items,
    drop column noticed_at;
