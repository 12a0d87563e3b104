drop procedure app_search_table_no_more(regclass);
drop procedure app_search_table(regclass, text, text, text[]);
drop function app_find_texts(uuid, text, text, text, integer);
drop table core_search_texts;
-- The extensions stay: other schemas of the database may use them.
