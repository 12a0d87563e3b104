-- A new row, durable.
insert into bench.rows values (bench.new_id(), repeat('x', 200));
