drop table calendar_zone_databases;
