alter table attachments_attachments drop column absent_since;
