-- The bare page: the latest 50 rows of a stage.
select id, organization_id, title, description, status, pipeline_id, pipeline_stage_id, value_amount, value_currency, probability,
    expected_close_on, closed_at, lost_reason, owner_user_id, source, created_at, updated_at
from customers_deals where tenant_id = :tenant and pipeline_stage_id = :stage order by created_at desc, id desc limit 50;
