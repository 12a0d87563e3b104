drop table devices_devices;
