-- Tenants take turns in each queue.
alter table core_job_tenants add column last_network_claim_at timestamptz(3) not null default to_timestamp(0);
