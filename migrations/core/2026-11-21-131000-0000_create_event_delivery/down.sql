drop policy event_queue on core_event_streams;
drop index core_outbox_events_occurred_at_idx;
drop index core_event_streams_created_at_idx;
drop table core_event_dead_letters;
drop table core_event_cursors;
alter table core_outbox_events drop audience_id;
