call app_search_table_no_more('directory_organizations');
