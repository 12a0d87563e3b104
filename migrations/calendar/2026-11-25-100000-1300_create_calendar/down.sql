drop table calendar_feeds;
drop table calendar_windows;
drop table calendar_series;
drop table calendar_holidays;
drop table calendar_working_calendars;
drop table calendar_reasons;
drop function calendar_zone_lock;
