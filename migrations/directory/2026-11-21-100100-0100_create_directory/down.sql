drop table directory_organizations;
drop table directory_tenants;
