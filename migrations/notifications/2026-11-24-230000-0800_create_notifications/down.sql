drop table notifications_preferences;
drop table notifications_notifications;
