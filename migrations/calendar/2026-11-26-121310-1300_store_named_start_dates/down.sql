alter table calendar_series drop column named_start_date;
