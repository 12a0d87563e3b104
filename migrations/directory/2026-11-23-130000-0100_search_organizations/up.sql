-- The search of users finds names of organizations.
call app_search_table('directory_organizations', 'directory.organization', 'id', 'name');
