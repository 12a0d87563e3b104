drop table auth_consents;
