-- A new row, durable, with a number that all clients take from one row. One statement, so that no round trip holds the lock.
with next as (update bench.counters set last = last + 1 where id = 1 returning last)
insert into bench.rows select bench.new_id(), repeat('x', 190) || last from next;
