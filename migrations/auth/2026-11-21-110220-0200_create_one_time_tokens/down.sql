drop table auth_one_time_tokens;
