alter table core_job_tenants drop column last_network_claim_at;
