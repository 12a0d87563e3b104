drop table dispatch_job_sites;
