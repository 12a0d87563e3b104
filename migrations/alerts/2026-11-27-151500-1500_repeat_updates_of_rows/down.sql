-- The rows stay as they are, since they are right without this migration, too.
select 1;
