call app_search_table_no_more('customers_deals');
call app_search_table_no_more('customers_people');
call app_search_table_no_more('customers_companies');
