alter table alerts_alerts drop column single_site_at;
