drop index core_jobs_tenant_id_progress_job_id_idx;
alter table core_jobs drop constraint core_jobs_progress_job_id_fkey;
drop table progress_job_items;
drop table progress_jobs;
