call app_search_table('auth_users', 'auth.user', 'id', 'email_norm', 'name');
-- The search of users finds names of roles too.
call app_search_table('auth_roles', 'auth.role', 'id', 'name_norm');
