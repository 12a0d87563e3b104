-- The first day that a client named, if an update with another rule has moved start_date since. A later update may move start_date back to it.
alter table calendar_series add column named_start_date date;
