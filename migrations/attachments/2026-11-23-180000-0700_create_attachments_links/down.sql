drop table attachments_links;
