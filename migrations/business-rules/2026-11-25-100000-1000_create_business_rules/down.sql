drop table business_rules_execution_logs;
drop table business_rules_runs;
drop table business_rules_set_members;
drop table business_rules_sets;
drop table business_rules_rules;
