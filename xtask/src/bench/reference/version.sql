-- The version is known to the server: the least is one round trip to PostgreSQL.
select 1;
