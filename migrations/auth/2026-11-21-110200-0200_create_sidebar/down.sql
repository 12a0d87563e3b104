drop table auth_sidebar_variants;
drop table auth_role_sidebar_preferences;
drop table auth_sidebar_preferences;
