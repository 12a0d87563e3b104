-- One row by its key, of a table without row-level security.
select payload from bench.rows where id = 'b0000000-0000-7000-8000-000000000000';
