drop table core_job_tenants;
drop table core_jobs;
drop function app_is_queue();
