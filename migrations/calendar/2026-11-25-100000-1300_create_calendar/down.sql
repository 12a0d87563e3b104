drop table calendar_windows;
