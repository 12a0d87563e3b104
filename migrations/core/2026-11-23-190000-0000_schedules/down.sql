drop table core_schedules;
