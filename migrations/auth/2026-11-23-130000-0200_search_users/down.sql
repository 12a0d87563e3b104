call app_search_table_no_more('auth_roles');
call app_search_table_no_more('auth_users');
