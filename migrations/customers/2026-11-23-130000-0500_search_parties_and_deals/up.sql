call app_search_table('customers_companies', 'customers.company', 'id', 'display_name', 'legal_name', 'primary_email');
call app_search_table('customers_people', 'customers.person', 'id', 'display_name', 'first_name', 'last_name', 'primary_email');
call app_search_table('customers_deals', 'customers.deal', 'id', 'title', 'description');
