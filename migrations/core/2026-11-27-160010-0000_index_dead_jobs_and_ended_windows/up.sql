-- Dead jobs are counted every few seconds, among the finished jobs of a week.
create index core_jobs_dead_idx on core_jobs (tenant_id, id) where state = 'dead';

-- Ended windows are deleted in batches, each of which would read the whole table without an index. The index adds no work to a request that is
-- counted in an open window: the update keeps `window_ends_at`, so PostgreSQL writes to no index as long as the page has room for the new
-- row, which the fill factor reserves. Only the first request of a window, and one that is blocked, writes to the indexes.
create index core_rate_limits_window_ends_at_idx on core_rate_limits (window_ends_at);
alter table core_rate_limits set (fillfactor = 70);
