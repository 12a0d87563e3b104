alter table core_rate_limits reset (fillfactor);
drop index core_rate_limits_window_ends_at_idx;
drop index core_jobs_dead_idx;
