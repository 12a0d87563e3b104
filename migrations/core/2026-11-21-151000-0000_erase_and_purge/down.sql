drop function audit_purge_tombstones(regclass, timestamptz, uuid, uuid);
drop function audit_erase(uuid, text, uuid);
