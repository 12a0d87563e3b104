drop procedure app_search_table_no_more(regclass);
drop procedure app_search_table(regclass, text, text, text[]);
drop function app_find_texts(uuid, text, text, text, integer);
drop table core_search_texts;
drop function app_text_groups(uuid, text, text);
