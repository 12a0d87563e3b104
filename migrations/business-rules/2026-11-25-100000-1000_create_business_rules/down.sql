drop table business_rules_rules;
