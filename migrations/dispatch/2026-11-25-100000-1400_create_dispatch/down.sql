drop table dispatch_assignments;
call app_search_table_no_more('dispatch_resources');
drop table dispatch_resources;
call app_search_table_no_more('dispatch_job_sites');
drop table dispatch_job_sites;
