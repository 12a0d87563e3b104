comment on index catalog_products_tags_idx is 'Not used under row-level security: && of arrays is not leakproof, so it is evaluated after the policy. For roles that bypass the policies only.';
