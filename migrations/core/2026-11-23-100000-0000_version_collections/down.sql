drop table core_collections;
