drop function app_own_push_token;
