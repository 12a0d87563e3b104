-- Time and id of a tenant's row with this number: evenly spread over the last year, entries of the logs over the last two.
create or replace function bench.at(number bigint) returns timestamptz
language sql immutable parallel safe
return to_timestamp(({start} + number * {step}) / 1000.0);

create or replace function bench.id(kind integer, number bigint) returns uuid
language sql immutable parallel safe
return (lpad(to_hex({start} + number * {step}), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8' || lpad(to_hex({tag}), 3, '0')
    || lpad(to_hex(number), 12, '0'))::uuid;

create or replace function bench.logged_at(number bigint) returns timestamptz
language sql immutable parallel safe
return to_timestamp(({start_of_log} + number * {step_of_log}) / 1000.0);

create or replace function bench.log_id(kind integer, number bigint) returns uuid
language sql immutable parallel safe
return (lpad(to_hex({start_of_log} + number * {step_of_log}), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8'
    || lpad(to_hex({tag}), 3, '0') || lpad(to_hex(number), 12, '0'))::uuid;
