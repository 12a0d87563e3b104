comment on index catalog_products_tags_idx is null;
